"""The trainings that are measured, as job files. Pure."""

from __future__ import annotations

import re
import shlex
import sys
from typing import Any

from tenuto.errors import InputInvalid
from tenuto.workloads.job import ENTRY
from tenuto.workloads.registry import workload_called

_TRAIN = "tenuto.bench.train"
_COUNT = re.compile(r"(\d+(?:\.\d+)?)\s*([kKmM]?)")
_UNITS = {"": 1, "K": 1_000, "M": 1_000_000}
_LARGEST = 1_000_000_000
ENDLESS = 10_000_000
"""Steps of a training that goes on until it is cancelled."""


def job_of_model(model: str, *, batch: int | None = None, steps: int = ENDLESS, most: int) -> dict[str, Any]:
    """A training of a model that traces name."""
    workload = workload_called(model)
    batch = batch or workload.batch
    return _job(model, f"-m {ENTRY} {shlex.quote(model)} --steps {steps} --batch {batch}", steps, batch, most)


def job_of_size(parameters: int, *, batch: int, most: int) -> dict[str, Any]:
    """A training of a model of about so many parameters, with Adam."""
    name = f"{parameters / 1e6:.3g}M"
    return _job(name, f"-m {_TRAIN} --parameters {parameters} --batch {batch}", ENDLESS, batch, most)


def parameters_of(text: str) -> int:
    """`25M` as a number."""
    found = _COUNT.fullmatch(text.strip())
    count = 0 if found is None else int(float(found[1]) * _UNITS[found[2].upper()])
    if not 1 <= count <= _LARGEST:
        raise InputInvalid(
            f"{text!r} is no number of parameters", remedy="Write one such as 25M or 300K", field="parameters"
        )
    return count


def _job(name: str, arguments: str, steps: int, batch: int, most: int) -> dict[str, Any]:
    return {
        "name": f"bench-{name}",
        "strategy": "allreduce",
        "run": f"{shlex.quote(sys.executable)} {arguments}",
        "workers": {"min": 1, "max": most},
        "total": {"steps": steps},
        "global_batch": batch,
        # Only one size is worth anything to the policy: no other is chosen before one is pinned.
        "curve": {1: 1.0},
        "env": {"OMP_NUM_THREADS": "1"},
        "grace": "10s",
    }
