"""A node's GPUs as the real gpustat tells of them, both looking at the same stand-in for the driver."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pynvml
import pytest
from tests.nvml import gpus as made
from tests.nvml.gpus import GIB, Process, some_gpus

from tenuto.cli.gpustat import LOST, Shown, as_gpustat, gpustat_lines
from tenuto.monitor.gpus import Gpus
from tenuto.monitor.whose import Whose
from tenuto.wire.sample import NodeSample

Json = dict[str, Any]
NOT_SAMPLED = {"cpu_percent", "cpu_memory_usage", "full_command"}
"""What gpustat tells of processes beyond their GPUs; we tell nothing, and the key is there."""


@pytest.fixture
def driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> made.Gpus:
    driver = made.Gpus(tmp_path / "드라이버")
    driver.in_this_process(monkeypatch)
    return driver


@pytest.fixture
def child() -> Iterator[int]:
    """Somebody who may use a GPU."""
    process = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield process.pid
    process.kill()
    process.communicate()


def told(tmp_path: Path) -> Json:
    """A node's sample, as the API gives it."""
    gpus = Gpus(Whose(), lambda: pynvml, devices=str(tmp_path / "none"))
    view = gpus.look(0.0)
    gpus.close()
    sample = NodeSample(at=time.time(), gpus=view.gpus, driver=view.driver)
    return {"node": "węzeł", "at": "", "age": 0.5, "sample": json.loads(json.dumps(asdict(sample)))}


def real(driver: made.Gpus, *options: str) -> str:
    """What gpustat prints."""
    done = subprocess.run(
        [sys.executable, "-m", "gpustat", *options],
        env={**os.environ, **driver.environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def printed(stat: Json, shown: Shown) -> list[str]:
    return [line.plain for line in gpustat_lines(stat, shown)]


def test_its_json_is_gpustats_key_by_key(driver: made.Gpus, child: int, tmp_path: Path) -> None:
    driver.show(*some_gpus(4))
    driver.change(1, processes=(Process(child, 3 * GIB), Process(os.getpid(), None)), fan=None)
    driver.change(2, processes=None, power=None)

    ours, theirs = as_gpustat(told(tmp_path)), json.loads(real(driver, "--json"))

    assert list(ours) == list(theirs)
    assert ours["driver_version"] == theirs["driver_version"]
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?", ours["query_time"])
    for mine, other in zip(ours["gpus"], theirs["gpus"], strict=True):
        assert list(mine) == list(other)
        codec = {"utilization.enc", "utilization.dec"}
        assert {key: mine[key] for key in mine if key not in {"processes", *codec}} == {
            key: other[key] for key in other if key not in {"processes", *codec}
        }
        assert by_pid(mine) == by_pid(other)
    assert {key for one in ours["gpus"][1]["processes"] for key in one} == {
        key for one in theirs["gpus"][1]["processes"] for key in one
    }


def by_pid(gpu: Json) -> Json | None:
    """The processes of a GPU, in no order, without what is not sampled."""
    if gpu["processes"] is None:
        return None
    return {
        one["pid"]: {key: value for key, value in one.items() if key not in NOT_SAMPLED}
        for one in gpu["processes"]
    }


@pytest.mark.parametrize(
    ("options", "shown"),
    [
        ((), Shown()),
        (("-c", "-u", "-p"), Shown(command=True, user=True, pid=True)),
        (("-F", "-P", "--no-header"), Shown(fan=True, power=True, header=False)),
        (("-c", "--no-processes"), Shown(command=True, processes=False)),
    ],
    ids=["plain", "processes", "fan and power", "no processes"],
)
def test_its_lines_are_gpustats(
    driver: made.Gpus, child: int, tmp_path: Path, options: tuple[str, ...], shown: Shown
) -> None:
    driver.show(*some_gpus(3))
    driver.change(0, name="NVIDIA RTX A6000", processes=(Process(child, 3 * GIB),), temperature=None)
    driver.change(1, lost=True)
    driver.change(2, processes=None, fan=None)

    ours = printed(as_gpustat(told(tmp_path)), shown)
    theirs = real(driver, "--no-color", *options).splitlines()

    if shown.header:
        assert ours[0].split()[-1] == theirs[0].split()[-1]
        ours, theirs = ours[1:], theirs[1:]
    assert ours == theirs


def test_a_lost_gpu_has_all_keys_and_says_so(driver: made.Gpus, tmp_path: Path) -> None:
    driver.show(*some_gpus(2))
    driver.change(1, lost=True)

    lost = as_gpustat(told(tmp_path))["gpus"][1]

    assert (lost["name"], lost["utilization.gpu"], lost["processes"]) == (LOST, None, None)
    assert json.loads(real(driver, "--json"))["gpus"][1]["name"] == LOST


def test_a_node_without_gpus_says_so() -> None:
    stat = as_gpustat({"node": "biuro", "sample": asdict(NodeSample(at=0.0))})

    assert printed(stat, Shown(header=False)) == ["(No GPUs are available)"]
    assert stat["gpus"] == []
