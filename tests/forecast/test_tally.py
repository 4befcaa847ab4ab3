"""Counting what became of promises and forecasts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.forecast.records import NOW, a_node, a_record

from tenuto.forecast.tally import FURTHER, MOST_CAUSES, MOST_NAMED, Held, Tally, available
from tenuto.model.job import ANSWERED, STARTED, Foretold, Job
from tenuto.model.phase import Phase, PromiseState

WEEK = 7 * 86_400.0


def a_tally() -> Tally:
    return Tally(NOW - WEEK, NOW)


def done(number: int = 1, **known: Any) -> Job:
    given: dict[str, Any] = {"phase": Phase.SUCCEEDED, "started_at": NOW - 500.0, "ended_at": NOW - 100.0}
    return a_record(number, **{**given, **known})


def told(moment: str, finish: float, late: float) -> Foretold:
    return Foretold(moment=moment, at=NOW - 600.0, finish=finish, late=late, estimate=finish, situation="")


def test_promises_are_counted_by_what_became_of_them_and_broken_ones_by_their_cause() -> None:
    tally = a_tally()
    tally.add(done(1, promise=PromiseState.KEPT))
    for number, times in ((2, 1), (3, 4)):
        breach = f"a node or its workers were lost ({times} times)"
        tally.add(done(number, promise=PromiseState.BROKEN, breach=breach))
    tally.add(done(4, promise=PromiseState.BROKEN, breach="forced by Łucja: pinned to 2 workers"))
    tally.add(a_record(5, promise=PromiseState.AT_RISK, phase=Phase.QUEUED))

    assert tally.promises == {PromiseState.KEPT: 1, PromiseState.BROKEN: 3, PromiseState.AT_RISK: 1}
    assert {name: cause.count for name, cause in tally.broken.items()} == {
        "a node or its workers were lost": 2,
        "forced by Łucja": 1,
    }
    assert tally.ended == {Phase.SUCCEEDED: 4}


def test_however_many_causes_and_jobs_there_are_only_some_are_named() -> None:
    tally = a_tally()
    for number in range(1, 200):
        tally.add(done(number, phase=Phase.DECLINED, why=f"reason {number % 50}"))

    assert len(tally.declined) == MOST_CAUSES + 1
    assert sum(cause.count for cause in tally.declined.values()) == 199
    assert len(tally.declined[FURTHER].jobs) == MOST_NAMED


def test_forecasts_are_compared_with_the_ends_of_jobs_that_succeeded() -> None:
    tally, end = a_tally(), NOW - 100.0
    tally.add(
        done(1, foretold=(told(ANSWERED, end - 30.0, end + 10.0), told(STARTED, end + 10.0, end + 20.0)))
    )
    tally.add(done(2, foretold=(told(ANSWERED, end - 50.0, end - 20.0),)))
    tally.add(done(3, phase=Phase.FAILED, foretold=(told(ANSWERED, end, end),)))

    assert tally.forecasts == {
        ANSWERED: Held(jobs=2, by_median=0, by_late=1, off=80.0, late=80.0),
        STARTED: Held(jobs=1, by_median=1, by_late=1, off=10.0, late=-10.0),
    }


def test_only_what_was_held_in_the_time_counts_as_used() -> None:
    tally = Tally(NOW - 300.0, NOW)
    tally.add(done(1, slot_seconds=800.0))  # two slots for 400 s, half of them in the time
    tally.add(a_record(2, slots={"node-0": (0, 1)}, changed_at=NOW - 50.0, started_at=NOW - 50.0))

    assert tally.used == pytest.approx(400.0 + 100.0)
    assert available([replace(a_node(0, 4), joined_at=NOW - 100.0)], NOW - 300.0, NOW) == 400.0


def test_rescales_are_the_changes_after_the_first_start() -> None:
    tally = a_tally()
    tally.add(done(1, generation=1))
    tally.add(done(2, generation=4))
    tally.add(done(3, generation=3, spec={"strategy": "allreduce"}))  # its leave was the last one
    tally.add(done(4, phase=Phase.DECLINED))

    assert tally.rescales == 3 + 1
