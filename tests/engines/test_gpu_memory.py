"""The memory of GPUs as a supervisor sees it, told only when there is something to tell."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.nvml.gpus import Gpu, Gpus

from tenuto import nvml
from tenuto.engines.gpu_memory import MemoryWatch, Parts, nvml_parts
from tenuto.model.node import Slot

GPUS = (Slot(device="0", kind="Test GPU"), Slot(device="1", kind="Test GPU"))
HANG_GUARD = 30


class Driver:
    """Tells what it was given, one answer for each look, and the last one for ever."""

    def __init__(self, *answers: Parts | Exception) -> None:
        self._answers = answers
        self._looks = 0
        self.all_told = threading.Event()

    def __call__(self, devices: Sequence[str]) -> Parts:
        answer = self._answers[min(self._looks, len(self._answers) - 1)]
        self._looks += 1
        if self._looks > len(self._answers) + 1:  # what the last answer led to has happened
            self.all_told.set()
        if isinstance(answer, Exception):
            raise answer
        return answer


def watched(driver: Driver) -> list[Parts]:
    """What a watch tells until it has heard everything."""
    told: list[Parts] = []
    watch = MemoryWatch(GPUS, driver, every=0.001)
    watch.start(lambda: told.append(watch.parts))
    assert driver.all_told.wait(HANG_GUARD)
    watch.end()
    return told


def test_only_what_has_changed_noticeably_is_told() -> None:
    told = watched(Driver((0.10, 0.0), (0.11, 0.0), (0.40, 0.0), (0.40, 0.01), (0.40, None)))

    assert told == [(0.10, 0.0), (0.40, 0.0), (0.40, None)]


def test_a_slow_growth_is_told_in_the_end() -> None:
    told = watched(Driver((0.500, 0.0), (0.515, 0.0), (0.530, 0.0), (0.545, 0.0), (0.560, 0.0)))

    assert told == [(0.500, 0.0), (0.530, 0.0), (0.560, 0.0)]


def test_a_driver_that_fails_tells_nothing_and_harms_nobody() -> None:
    told = watched(Driver((0.3, 0.3), RuntimeError("the driver fell over"), (0.3, 0.3)))

    assert told == [(0.3, 0.3), (None, None), (0.3, 0.3)]


def test_a_node_without_gpus_is_not_looked_at() -> None:
    watch = MemoryWatch((Slot(), Slot()), Driver((0.1, 0.1)), every=0.001)
    before = threading.active_count()

    watch.start(lambda: None)

    assert (threading.active_count(), watch.parts) == (before, ())


def test_nvml_is_asked_for_each_device_by_its_number(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    driver = Gpus(tmp_path)
    driver.show(*(Gpu(uuid=f"GPU-{i}", memory_used=i * 10, memory_total=40, lost=i == 2) for i in range(4)))
    driver.in_this_process(monkeypatch)

    assert nvml_parts(["3", "", "1", "2"]) == (0.75, None, 0.25, None)
    driver.behave(refuses_to_start=9)
    assert nvml_parts(["0"]) == (None,)


def test_without_nvml_nobody_can_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nvml, "is_here", lambda: False)

    assert nvml_parts(["0"]) == (None,)
