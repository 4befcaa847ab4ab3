"""The controller's thread: woken by bells, stopped at once, ended by nothing else."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from tests.live.platform import Clock, Platform

from tenuto.engines.fake import FakeEngine
from tenuto.live.controller import Controller
from tenuto.live.loop import Loop
from tenuto.model.phase import Phase
from tenuto.settings import Settings
from tenuto.store.base import StoreUnavailable

P = Phase
HANGS = 60.0


@contextmanager
def running(here: Platform, controller: Controller | None = None) -> Iterator[threading.Thread]:
    stop = threading.Event()
    thread = threading.Thread(target=(controller or here.controller).run, args=(stop,), name="controller")
    thread.start()
    try:
        yield thread
    finally:
        stop.set()
        thread.join(HANGS)
        assert not thread.is_alive()


def until(condition: Callable[[], bool]) -> None:
    """Wait for something that must come; the limit is only there so that a test cannot hang."""
    limit = time.monotonic() + HANGS
    while not condition():
        assert time.monotonic() < limit, "it did not happen"
        time.sleep(0.005)


class RealClock(Clock):
    """Cannot be set."""

    def __call__(self) -> float:
        self.now = time.time()
        return self.now


def a_platform() -> Platform:
    here = Platform({})
    here.clock = RealClock()
    here.engine = FakeEngine(here.clock)
    here.engine.add_node("node-0", 4)
    here.new_controller()
    return here


def submitted(here: Platform) -> str:
    here.clock()
    return here.submit(settle=False)


def test_a_job_is_answered_started_and_ended_by_bells_alone() -> None:
    here = a_platform()
    with running(here):
        until(lambda: here.store.read(lambda tx: tx.meta("controller"))["state"] == "deciding")
        job = submitted(here)
        until(lambda: here.phase(job) is P.RUNNING)
        here.engine.end_job(job)
        until(lambda: here.phase(job) is P.SUCCEEDED)

    state = here.store.read(lambda tx: tx.meta("controller"))
    assert state["state"] == "stopped"
    assert here.store.read(lambda tx: tx.meta("leadership"))["until"] <= time.time()


def test_a_stopped_controller_leaves_its_workers_alone() -> None:
    here = a_platform()
    with running(here):
        job = submitted(here)
        until(lambda: here.phase(job) is P.RUNNING)

    assert len(here.workers(job)) == 4
    with running(here, Controller(here.store, here.engine, time.time, Settings())):
        here.engine.end_job(job)
        until(lambda: here.phase(job) is P.SUCCEEDED)
    assert len(here.engine.started) == 4


def test_the_loop_survives_a_store_that_fails_and_a_bug_of_our_own() -> None:
    here = a_platform()
    tick, failures = here.controller.tick, iter([StoreUnavailable("full"), ZeroDivisionError("our bug")])

    def failing() -> bool:
        for failure in failures:
            raise failure
        return tick()

    here.controller.tick = failing  # type: ignore[method-assign]
    with running(here):
        job = submitted(here)
        until(lambda: here.phase(job) is P.RUNNING)


def test_a_second_controller_takes_over_when_the_first_has_resigned() -> None:
    here = a_platform()
    other = Controller(here.store, here.engine, time.time, Settings(), holder="drugi")
    with running(here, other):
        until(lambda: here.store.read(lambda tx: tx.meta("leadership")) is not None)
        term = here.store.read(lambda tx: tx.meta("leadership"))["term"]
        standing_by = Controller(here.store, here.engine, time.time, Settings(), holder="trzeci")
        with running(here, standing_by):
            job = submitted(here)
            until(lambda: here.phase(job) is P.RUNNING)
            other.resign()
            until(lambda: here.store.read(lambda tx: tx.meta("leadership"))["term"] > term)


def test_a_policy_that_cannot_be_tried_out_keeps_nobody_from_running() -> None:
    here = a_platform()
    here.set_policy("no-such-policy")
    with running(here):
        until(lambda: bool(here.events(kind="policy")))
        here.set_policy("fifo")
        job = submitted(here)
        until(lambda: here.phase(job) is P.RUNNING)


def test_a_loop_waits_no_longer_than_it_was_told() -> None:
    class Idle:
        settings = Settings()
        ticks = 0

        def tick(self) -> bool:
            self.ticks += 1
            return True

        def next_look(self, now: float) -> float:
            return now + 0.05

        def resign(self) -> None:
            pass

    here, idle, stop = a_platform(), Idle(), threading.Event()
    loop: Any = Loop(idle, here.store, here.engine, time.time)
    thread = threading.Thread(target=loop.run, args=(stop,))
    thread.start()
    until(lambda: idle.ticks > 3)
    stop.set()
    thread.join(HANGS)
    assert not thread.is_alive()
