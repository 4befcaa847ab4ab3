"""The public traces: these very files, all of their jobs, and quickly."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import numpy as np
import pytest

from tenuto.sim.read_profiles import load_profiles
from tenuto.sim.read_trace import read_trace

if TYPE_CHECKING:
    from pathlib import Path

# MD5, jobs, first and last submission, jobs by requested slots.
PUBLIC = {
    "cluster01": ("f9a12aaaefde35efcb730b4632a3d57d", 1595, 1932025, 4848400,
                  {1: 1530, 2: 11, 4: 6, 8: 5, 16: 6, 32: 11, 64: 26}),
    "cluster02": ("03498dae12ccbdd022399d15955c0659", 5778, 5010, 5166386,
                  {1: 4937, 2: 102, 4: 301, 8: 352, 16: 36, 32: 36, 64: 14}),
    "cluster04": ("eb7c6e395cd35067291dea295e1baff5", 15802, 5810, 5142627,
                  {1: 11924, 2: 125, 4: 532, 8: 2779, 16: 182, 32: 254, 64: 6}),
    "cluster05": ("f2e315ca5f63491b9771d0415c5babde", 3629, 9940, 5130398, {1: 3465, 2: 50, 4: 37, 8: 77}),
    "cluster07": ("a8a22ee06eb4bbeb87df155a9b7c7acf", 12699, 1999, 5137938,
                  {1: 9854, 2: 836, 4: 1071, 8: 936, 16: 2}),
    "cluster08": ("30a48f4b284dce7323c36f469092192d", 13047, 3793, 3667158,
                  {1: 12558, 2: 217, 4: 262, 8: 1, 32: 9}),
    "cluster09": ("45c38319c217f719bb20c4b78df6946e", 11134, 2816, 4534015, {1: 11134}),
    "cluster10": ("a1b84550b7c533ceda0b776fa2545544", 260, 2266647, 5104565, {1: 193, 2: 51, 4: 14, 16: 2}),
    "elasticVpollux_e": ("1929fd6e9b5dd6a68890d77f7ab2097b", 195, 3715485, 3887530,
                         {1: 118, 2: 1, 4: 45, 8: 28, 16: 3}),
    "philly_103959": ("f648d9367a20843ee7ec1a264b7212dd", 876, 0, 7910536, {1: 513, 2: 33, 4: 330}),
    "resnet_cifar_trace": ("0776fd8aa19a4491a8bc17b21e983abf", 5, 0, 309537, {1: 5}),
}  # fmt: skip


@pytest.mark.parametrize("name", PUBLIC)
def test_a_public_trace_loads_with_all_its_jobs(shared: Path, name: str) -> None:
    checksum, jobs, first, last, sizes = PUBLIC[name]
    file = shared / "data" / "traces" / f"{name}.csv"
    assert hashlib.md5(file.read_bytes(), usedforsecurity=False).hexdigest() == checksum

    trace = read_trace(file)

    assert (len(trace), trace.submitted[0], trace.submitted[-1]) == (jobs, first, last)
    assert (
        dict(zip(*map(np.ndarray.tolist, np.unique(trace.requested, return_counts=True)), strict=True))
        == sizes
    )


# One is for T4 GPUs, the other has a job that kept its steps when its model was changed.
MADE_OTHERWISE = ("elasticVpollux_e", "resnet_cifar_trace")


@pytest.mark.parametrize("name", [name for name in PUBLIC if name not in MADE_OTHERWISE])
def test_steps_are_what_the_profile_makes_of_the_duration(shared: Path, name: str) -> None:
    trace = read_trace(shared / "data" / "traces" / f"{name}.csv")
    curves = load_profiles("a100").curves

    speed = [
        curves[model, batch].rate[slots]
        for model, batch, slots in zip(
            trace.models, trace.batch.tolist(), trace.requested.tolist(), strict=True
        )
    ]

    assert (np.abs(trace.steps / (trace.duration * speed) - 1) < 0.002).all()
