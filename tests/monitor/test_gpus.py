"""GPUs as a stand-in for NVIDIA's driver tells of them."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import astuple
from pathlib import Path
from typing import Any

import pynvml
import pytest
from tests.nvml import gpus as made
from tests.nvml.gpus import GIB, Process, some_gpus

from tenuto.monitor.gpus import LOOK_FOR_LIBRARY, LOOK_FOR_LOST, TRY_AGAIN, Gpus
from tenuto.monitor.whose import Whose
from tenuto.wire import env
from tenuto.wire.sample import GpuProcess, GpuSample

DRIVER_NOT_LOADED, VERSION_MISMATCH = 9, 18


@pytest.fixture
def driver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> made.Gpus:
    driver = made.Gpus(tmp_path / "드라이버")
    driver.in_this_process(monkeypatch)
    return driver


@pytest.fixture
def gpus(driver: made.Gpus, tmp_path: Path) -> Iterator[Gpus]:
    gpus = Gpus(Whose(), lambda: pynvml, devices=str(tmp_path / "devices"))
    yield gpus
    gpus.close()


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    """A worker's child, which has cleared its variables away: those of the worker count."""
    waits = [sys.executable, "-c", "print(1, flush=True); input()"]
    own = f"import subprocess; subprocess.run({waits}, env={{}})"
    worker = {env.JOB_ID: "job-7", env.WORKER: "job-7.2.worker.1"}
    process = subprocess.Popen(
        [sys.executable, "-c", own],
        env={**os.environ, **worker},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout and process.stdin
    process.stdout.readline()
    yield process
    process.stdin.close()
    process.wait()
    process.stdout.close()


def lost(gpus: tuple[GpuSample, ...]) -> list[tuple[int, str | None]]:
    return [(gpu.index, gpu.uuid) for gpu in gpus if gpu.lost]


def test_four_gpus_are_told_of_as_they_are_at_each_look(driver: made.Gpus, gpus: Gpus) -> None:
    driver.show(*some_gpus(4))
    before = gpus.look(0.0)
    driver.change(2, utilisation=97, memory_used=9 * GIB, power=250_500, temperature=81, fan=100)

    view = gpus.look(1.0)

    assert [gpu.utilisation for gpu in before.gpus] == [0, 10, 20, 30]
    assert [gpu.utilisation for gpu in view.gpus] == [0, 10, 97, 30]
    assert view.gpus[2] == GpuSample(
        index=2,
        uuid="GPU-00000002",
        name="Test GPU",
        utilisation=97,
        memory_used=9 * GIB,
        memory_total=16 * GIB,
        power=250.5,
        power_limit=300.0,
        temperature=81,
        fan=100,
        processes=(),
    )
    assert (view.driver, view.problem) == ("580.95.05", None)


def test_sixteen_gpus_are_as_good_as_one(driver: made.Gpus, gpus: Gpus) -> None:
    driver.show(*some_gpus(1))
    assert len(gpus.look(0.0).gpus) == 1

    driver.show(*some_gpus(16))

    view = gpus.look(1.0)
    assert [gpu.index for gpu in view.gpus] == list(range(16))
    assert len({gpu.uuid for gpu in view.gpus}) == 16
    assert not lost(view.gpus)


@pytest.mark.parametrize("value", ["utilisation", "power", "power_limit", "temperature", "fan", "processes"])
def test_what_a_gpu_does_not_support_is_unknown_and_nothing_else_is(
    driver: made.Gpus, gpus: Gpus, value: str
) -> None:
    driver.show(made.Gpu())
    driver.change(0, **{value: None})

    (gpu,) = gpus.look(0.0).gpus

    unknown = [name for name in GpuSample.__slots__ if getattr(gpu, name) is None]
    assert unknown == [value]


def test_memory_that_is_not_told_leaves_used_and_total_unknown(driver: made.Gpus, gpus: Gpus) -> None:
    driver.show(made.Gpu(memory_used=None))

    (gpu,) = gpus.look(0.0).gpus

    assert (gpu.memory_used, gpu.memory_total, gpu.utilisation) == (None, None, 0)


def test_processes_are_told_with_their_job(
    driver: made.Gpus, gpus: Gpus, child: subprocess.Popen[bytes]
) -> None:
    (grandchild,) = map(int, Path(f"/proc/{child.pid}/task/{child.pid}/children").read_text().split())
    nobody = 2**22 + 1  # more than a pid can be
    drawing = (Process(child.pid, 1), Process(nobody, None))
    driver.show(
        made.Gpu(processes=(Process(child.pid, 2 * GIB), Process(grandchild, GIB)), graphics=drawing),
        made.Gpu(uuid="GPU-1", processes=(Process(os.getpid(), None),)),
    )

    first, second = gpus.look(0.0).gpus

    python = Path(sys.executable).name
    user = Path(f"/proc/{os.getpid()}").owner()
    its = {"name": python, "user": user, "job": "job-7", "worker": "job-7.2.worker.1"}
    assert first.processes == (
        *sorted(
            (
                GpuProcess(pid=child.pid, memory=2 * GIB, **its),
                GpuProcess(pid=grandchild, memory=GIB, **its),
            ),
            key=lambda process: process.pid,
        ),
        GpuProcess(pid=nobody),
    )
    assert second.processes
    assert (second.processes[0].user, second.processes[0].job) == (user, None)


def test_a_gpu_that_is_lost_keeps_its_entry_and_returns(driver: made.Gpus, gpus: Gpus) -> None:
    driver.show(*some_gpus(4))
    gpus.look(0.0)
    driver.change(1, lost=True)

    view = gpus.look(1.0)

    assert view.gpus[1] == GpuSample(index=1, uuid="GPU-00000001", name="Test GPU", lost=True)
    assert [gpu.utilisation for gpu in view.gpus] == [0, None, 20, 30]
    assert view.problem is None

    driver.change(1, lost=False, utilisation=55)

    assert [gpu.utilisation for gpu in gpus.look(2.0).gpus] == [0, 55, 20, 30]


def test_another_session_is_begun_now_and_then_for_a_lost_gpu_and_for_nothing_else(
    driver: made.Gpus, gpus: Gpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun: list[float] = []
    begin = pynvml.nvmlInit

    def counted() -> None:
        begun.append(now)
        begin()

    monkeypatch.setattr(pynvml, "nvmlInit", counted)
    driver.show(*some_gpus(2))
    for now in (0.0, 1.0, 500.0):
        gpus.look(now)
    driver.change(0, lost=True)

    for now in (501.0, 502.0, 501.0 + LOOK_FOR_LOST, 502.0 + LOOK_FOR_LOST, 501.0 + 2 * LOOK_FOR_LOST):
        assert lost(gpus.look(now).gpus) == [(0, "GPU-00000000")]

    assert begun == [0.0, 501.0 + LOOK_FOR_LOST, 501.0 + 2 * LOOK_FOR_LOST]


def test_drivers_old_and_new_are_understood(
    driver: made.Gpus, gpus: Gpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    driver.show(*some_gpus(1))
    told = gpus.look(0.0).gpus
    older = pynvml.nvmlDeviceGetMemoryInfo

    def memory(handle: Any, version: int | None = None) -> Any:
        if version is not None:
            raise pynvml.NVMLError(pynvml.NVML_ERROR_FUNCTION_NOT_FOUND)
        return older(handle)

    monkeypatch.setattr(pynvml, "nvmlDeviceGetMemoryInfo", memory)
    monkeypatch.delattr(pynvml, "nvmlDeviceGetTemperature")

    assert gpus.look(1.0).gpus == told


def test_a_gpu_that_was_lost_before_anybody_looked_has_a_number_only(driver: made.Gpus, gpus: Gpus) -> None:
    driver.show(*some_gpus(2))
    driver.change(0, lost=True)

    assert gpus.look(0.0).gpus[0] == GpuSample(index=0, lost=True)


def test_gpus_that_are_numbered_anew_leave_the_lost_one_another_number(driver: made.Gpus, gpus: Gpus) -> None:
    all_four = some_gpus(4)
    driver.show(*all_four)
    gpus.look(0.0)

    driver.show(all_four[0], all_four[2], all_four[3])

    told = [(gpu.index, gpu.uuid, gpu.lost) for gpu in gpus.look(1.0).gpus]
    alive = [(0, "GPU-00000000", False), (1, "GPU-00000002", False), (2, "GPU-00000003", False)]
    assert told == [*alive, (3, "GPU-00000001", True)]


def test_without_a_library_there_are_no_gpus_and_no_problem_until_it_is_installed(driver: made.Gpus) -> None:
    driver.show(made.Gpu())
    found: list[Any] = [None, pynvml]
    gpus = Gpus(Whose(), lambda: found.pop(0))

    nothing, still_nothing = gpus.look(0.0), gpus.look(LOOK_FOR_LIBRARY - 1.0)

    assert astuple(nothing) == astuple(still_nothing) == ((), None, None)
    assert len(gpus.look(LOOK_FOR_LIBRARY).gpus) == 1
    gpus.close()


@pytest.mark.parametrize(
    ("code", "told"),
    [
        (DRIVER_NOT_LOADED, "Driver Not Loaded"),
        (VERSION_MISMATCH, "RM has detected an NVML/RM version mismatch"),
    ],
)
def test_a_driver_that_does_not_start_is_told_and_tried_again(
    driver: made.Gpus, gpus: Gpus, code: int, told: str
) -> None:
    driver.show(made.Gpu())
    driver.behave(refuses_to_start=code)

    view = gpus.look(0.0)
    driver.behave(refuses_to_start=0)

    assert (view.gpus, view.problem) == ((), f"the driver of the GPUs does not answer: {told}")
    assert gpus.look(TRY_AGAIN - 1.0) == view
    better = gpus.look(TRY_AGAIN)
    assert (len(better.gpus), better.problem, better.driver) == (1, None, "580.95.05")


@pytest.mark.parametrize("trouble", [{"session": 1}, {"fails": DRIVER_NOT_LOADED}])
def test_a_driver_that_is_lost_is_reached_by_another_session(
    driver: made.Gpus, gpus: Gpus, trouble: dict[str, int]
) -> None:
    driver.show(*some_gpus(2))
    gpus.look(0.0)
    driver.behave(**trouble)

    view = gpus.look(1.0)
    driver.behave(fails=0)

    assert lost(view.gpus) == [(0, "GPU-00000000"), (1, "GPU-00000001")]
    assert (view.problem or "").startswith("the driver of the GPUs does not answer: ")
    better = gpus.look(1.0 + TRY_AGAIN)
    assert (lost(better.gpus), len(better.gpus), better.problem) == ([], 2, None)


def test_a_device_that_the_driver_gets_is_looked_for_at_once(
    driver: made.Gpus, gpus: Gpus, tmp_path: Path
) -> None:
    driver.show(made.Gpu())
    gpus.look(0.0)
    driver.behave(session=1)  # the old session would not do

    (tmp_path / "devices" / "0000:01:00.0").mkdir(parents=True)

    view = gpus.look(1.0)
    assert (len(view.gpus), view.problem) == (1, None)
