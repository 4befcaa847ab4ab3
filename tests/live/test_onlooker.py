"""Who watches the controller learns of every tick and round; and what becomes of promises is counted once."""

from __future__ import annotations

import threading
from typing import Any

from tests.live.platform import Platform

from tenuto.live.controller import Controller
from tenuto.live.leadership import LeadershipLost
from tenuto.live.loop import Loop
from tenuto.monitor.facts import OUTCOMES
from tenuto.monitor.prometheus.counts import Counts
from tenuto.store.base import StoreUnavailable

TWO = {"node-0": 4, "노드-1": 4}


class Watcher:
    """Writes down what it sees."""

    def __init__(self) -> None:
        self.outcomes: list[str] = []
        self.rounds: list[float] = []

    def ticked(self, outcome: str, seconds: float, at: float) -> None:
        assert seconds >= 0.0 and at >= 1000.0
        self.outcomes.append(outcome)

    def ruled(self, seconds: float) -> None:
        self.rounds.append(seconds)


def outcomes(here: Platform) -> Any:
    return here.store.read(lambda tx: tx.meta(OUTCOMES))


def test_a_round_is_seen_and_a_tick_without_one_is_none() -> None:
    here, watcher = Platform(), Watcher()
    controller = Controller(here.store, here.engine, here.clock, here.settings, force=True, onlooker=watcher)
    here.submit(settle=False)
    while not controller.tick():
        pass
    rounds = len(watcher.rounds)
    controller.tick()

    assert rounds >= 1
    assert len(watcher.rounds) == rounds


class Stumbling:
    """A controller that does what a test wants, tick by tick, and then nothing more."""

    def __init__(self, here: Platform, stop: threading.Event, *turns: bool | Exception) -> None:
        self.settings = here.settings
        self._stop = stop
        self._turns = list(turns)

    def tick(self) -> bool:
        turn = self._turns.pop(0)
        if not self._turns:
            self._stop.set()
        if isinstance(turn, Exception):
            raise turn
        return turn

    def next_look(self, now: float) -> float:
        return now

    def resign(self) -> None:
        pass


def test_every_tick_is_seen_whatever_comes_of_it() -> None:
    here, watcher, stop = Platform(), Watcher(), threading.Event()
    stumbling = Stumbling(here, stop, False, True, LeadershipLost("another leads"))
    Loop(stumbling, here.store, here.engine, here.clock, watcher).run(stop)
    assert watcher.outcomes == ["again", "done", "standby"]

    stop.clear()
    Loop(Stumbling(here, stop, StoreUnavailable("full")), here.store, here.engine, here.clock, watcher).run(
        stop
    )
    stop.clear()
    Loop(Stumbling(here, stop, ValueError("ours")), here.store, here.engine, here.clock, watcher).run(stop)

    assert watcher.outcomes[3:] == ["store", "failed"]


def test_counts_are_such_a_watcher() -> None:
    counts = Counts()
    counts.ticked("done", 0.5, 1234.0)
    counts.ruled(0.25)

    def value(name: str, **labels: str) -> float | None:
        return counts.registry.get_sample_value(name, labels)

    assert value("tenuto_controller_ticks_total", outcome="done") == 1.0
    assert value("tenuto_controller_last_tick_timestamp_seconds") == 1234.0
    assert value("tenuto_round_duration_seconds_sum") == 0.25


def test_promises_are_counted_when_it_turns_out_what_becomes_of_them() -> None:
    here = Platform(TWO)
    kept = here.submit(steps=100.0, deadline=200.0)
    withdrawn = here.submit(steps=100.0, deadline=200.0)
    free = here.submit(steps=10.0)
    assert outcomes(here) is None
    here.pass_time(30.0)

    here.exit(kept)
    here.exit(free)
    assert outcomes(here) == {"kept": 1}

    here.wish(withdrawn, cancel=True)
    here.pass_time(60.0)
    here.new_controller()
    here.settle()

    assert outcomes(here) == {"kept": 1, "withdrawn": 1}


def test_a_promise_that_is_broken_is_counted_once_although_its_job_goes_on() -> None:
    here = Platform(TWO)
    job = here.submit(steps=640.0, deadline=100.0, max_workers=8, curve={1: 1.0, 4: 4.0, 8: 8.0})
    here.engine.lose_node("노드-1")
    here.pass_time(101.0)
    assert outcomes(here) == {"broken": 1}

    here.exit(job)

    assert outcomes(here) == {"broken": 1}
