"""A driver that is asked, and does not always answer in time."""

from __future__ import annotations

import threading
from collections.abc import Callable

from tests.e2e.platform import eventually

from tenuto.monitor.gpus import GpuView
from tenuto.monitor.in_time import InTime
from tenuto.wire.sample import GpuSample

BUSY = GpuView(gpus=(GpuSample(index=0, uuid="GPU-1", utilisation=80.0),), driver="580")
HANG_GUARD = 30.0


class Driver:
    """Answers when it is let."""

    def __init__(self) -> None:
        self.may_answer = threading.Event()
        self.questions = threading.Semaphore(0)
        self.fails = False

    def look(self, _now: float) -> GpuView:
        self.questions.release()
        assert self.may_answer.wait(HANG_GUARD)
        if self.fails:
            raise RuntimeError("out of order")
        return BUSY


def until(look: Callable[[float], GpuView], wanted: Callable[[GpuView], bool], now: float) -> GpuView:
    return eventually(lambda: next(filter(wanted, [look(now)]), None), "the driver is told as wanted")


def test_a_driver_that_hangs_is_told_and_asked_again_when_it_has_answered() -> None:
    driver = Driver()
    gpus = InTime(driver.look, patience=0.001)

    silent = [gpus.look(now) for now in (1.0, 2.0, 61.0)]

    assert silent[-1] == GpuView(problem="the driver of the GPUs has not answered for 60 s")
    assert driver.questions.acquire(timeout=HANG_GUARD)
    assert not driver.questions.acquire(blocking=False)
    driver.may_answer.set()
    assert until(gpus.look, lambda view: view.problem is None, 62.0) == BUSY


def test_gpus_of_a_driver_that_hangs_are_known_and_what_they_do_is_not() -> None:
    driver = Driver()
    driver.may_answer.set()
    gpus = InTime(driver.look, patience=0.001)
    until(gpus.look, lambda view: view == BUSY, 1.0)
    driver.may_answer.clear()

    view = until(gpus.look, lambda view: view.problem is not None, 2.0)
    driver.may_answer.set()

    assert (view.gpus, view.driver) == ((GpuSample(index=0, uuid="GPU-1"),), "580")


def test_of_whatever_the_driver_dies_the_rest_of_the_sample_is_worth_having() -> None:
    driver = Driver()
    driver.may_answer.set()
    gpus = InTime(driver.look, patience=HANG_GUARD)
    gpus.look(0.0)
    driver.fails = True

    view = gpus.look(1.0)

    assert view.problem == "the GPUs cannot be read: RuntimeError('out of order')"
    assert [gpu.uuid for gpu in view.gpus] == ["GPU-1"]
