"""A policy beside what really happened: numbers, and the jobs that fare most differently."""

from __future__ import annotations

from math import nan
from typing import Any

import numpy as np
import pytest
from tests.forecast.records import EPOCH

from tenuto.forecast.alongside import Imagined, Usage
from tenuto.forecast.comparison import Kind, differences, imagined, in_words, real_usage, really, tally
from tenuto.forecast.past import Course, PastJob, Stretch
from tenuto.model.columns import frozen
from tenuto.model.phase import Phase, PromiseState

NOW = EPOCH + 10_000.0


def a_past(number: int = 1, *, deadline: float | None = None, **course: Any) -> PastJob:
    """A job that arrived at the epoch and was done after a thousand seconds, unless the test says otherwise."""
    fields: dict[str, Any] = {
        "phase": Phase.SUCCEEDED,
        "started": EPOCH + 100.0,
        "ended": EPOCH + 1000.0,
        "declined": False,
        "promised": None if deadline is None else EPOCH + deadline,
        "promise": PromiseState.NONE if deadline is None else PromiseState.KEPT,
        "rescales": 0,
        "workers": 0,
        "stretches": (),
    }
    return PastJob(
        id=f"job-{number}",
        number=number,
        name="zkouška",
        owner="민준",
        arrived=EPOCH,
        total=100.0,
        done=100.0,
        rates=((1, 1.0),),
        wanted=1,
        batch=1,
        deadline=None if deadline is None else EPOCH + deadline,
        urgent=False,
        node="",
        wishes=(),
        guesses=frozenset(),
        course=Course(**(fields | course)),
    )


def a_world(**columns: float | int | bool) -> Imagined:
    """A world with one job in it."""
    values = {
        "started": EPOCH,
        "finished": EPOCH + 1000.0,
        "promised": nan,
        "refused": False,
        "rescales": 0,
        "held": 0,
    }
    made = {name: frozen(np.array([value])) for name, value in (values | columns).items()}
    return Imagined(**made, usage=Usage(*(np.array([]) for _ in range(3))), rounds=1)


def kinds(job: PastJob, **columns: float | int | bool) -> list[Kind]:
    pair = (really(job), imagined(job, 0, a_world(**columns)))
    return [one.kind for one in differences([pair], NOW, most=5)]


def test_what_is_the_same_is_not_told() -> None:
    assert kinds(a_past()) == []
    assert kinds(a_past(), finished=EPOCH + 1050.0) == []


def test_another_answer_is_told_first_of_all() -> None:
    assert kinds(a_past(deadline=2000.0), refused=True, finished=nan) == [Kind.DECLINED]
    declined = a_past(phase=Phase.DECLINED, declined=True, started=None, deadline=500.0)
    assert kinds(declined) == [Kind.ADMITTED]


def test_a_deadline_that_only_one_of_them_holds_is_told() -> None:
    assert kinds(a_past(deadline=1500.0), finished=EPOCH + 2000.0) == [Kind.LATE]
    assert kinds(a_past(deadline=700.0), finished=EPOCH + 600.0) == [Kind.IN_TIME]


def test_a_deadline_that_has_passed_before_the_job_is_done_is_missed_already() -> None:
    running = a_past(deadline=700.0, phase=Phase.RUNNING, ended=None)

    assert kinds(running, finished=EPOCH + 600.0) == [Kind.IN_TIME]


@pytest.mark.parametrize(("held", "told"), [(4, "4 slots"), (1, "1 slot")])
def test_slots_of_now_are_told_while_a_job_runs_in_both_worlds(held: int, told: str) -> None:
    running = a_past(phase=Phase.RUNNING, ended=None, workers=2)
    pair = (really(running), imagined(running, 0, a_world(finished=nan, held=held)))

    [one] = differences([pair], NOW, most=5)

    assert in_words(one) == f"would have {told} now instead of 2"


def test_the_largest_difference_in_time_comes_first() -> None:
    pairs = [
        (really(a_past(number)), imagined(a_past(number), 0, a_world(finished=EPOCH + finish)))
        for number, finish in ((1, 1200.0), (2, 12_000.0), (3, 100.0))
    ]

    found = differences(pairs, NOW, most=2)

    assert [(one.job.number, one.kind) for one in found] == [(2, Kind.LATER), (3, Kind.EARLIER)]
    assert in_words(found[0]) == "would have been done 3.06 h later"


def test_a_week_is_counted() -> None:
    jobs = [
        a_past(1, deadline=2000.0, rescales=2),
        a_past(2, deadline=900.0, promise=PromiseState.BROKEN),
        a_past(
            3, phase=Phase.DECLINED, declined=True, deadline=50.0, started=None, promised=None, ended=None
        ),
        a_past(4, phase=Phase.CANCELLED, started=None, deadline=100.0, promise=PromiseState.WITHDRAWN),
        a_past(5),
    ]
    usage = Usage(
        np.array([EPOCH, EPOCH + 100.0]), np.array([4, 0], dtype=np.int64), np.array([8, 8], dtype=np.int64)
    )

    counted = tally([really(job) for job in jobs], usage, EPOCH, EPOCH + 200.0)

    assert (counted.jobs, counted.with_deadline, counted.admitted, counted.declined) == (5, 4, 4, 1)
    assert (counted.promised, counted.kept, counted.missed) == (2, 1, 1)
    assert (counted.in_time, counted.late, counted.finished, counted.rescales) == (1, 1, 3, 2)
    assert (counted.mean_wait, counted.median_completion) == (100.0, 1000.0)
    assert counted.utilisation == 0.25


def test_nothing_has_no_averages() -> None:
    empty = tally([], Usage(*(np.array([]) for _ in range(3))), EPOCH, NOW)

    assert (empty.jobs, empty.mean_wait, empty.utilisation) == (0, None, None)


def test_slots_really_in_use_are_those_of_the_jobs_stretches() -> None:
    jobs = [
        a_past(1, stretches=(Stretch(EPOCH, EPOCH + 100.0, 2),)),
        a_past(
            2, stretches=(Stretch(EPOCH + 50.0, EPOCH + 100.0, 1), Stretch(EPOCH + 100.0, EPOCH + 200.0, 4))
        ),
    ]
    ground = Usage(np.array([EPOCH]), np.array([0], dtype=np.int64), np.array([8], dtype=np.int64))

    usage = real_usage(jobs, ground)

    assert (usage.at - EPOCH).tolist() == [0.0, 50.0, 100.0, 200.0]
    assert usage.busy.tolist() == [2, 3, 4, 0]
    assert usage.usable.tolist() == [8, 8, 8, 8]
