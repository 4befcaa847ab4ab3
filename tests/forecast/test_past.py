"""What records and events tell of a job that is over: its arrival, its steps, its speed, and what had to be guessed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.forecast.records import EPOCH, LINEAR, a_contract, a_record

from tenuto.forecast.past import (
    Guess,
    LeftOut,
    PastJob,
    Stretch,
    TraceJob,
    Wish,
    WishKind,
    past_of,
    trace_job,
)
from tenuto.model.event import Event
from tenuto.model.job import After, Pin, Reply
from tenuto.model.phase import Phase

NOW = EPOCH + 5000.0


def an_event(at: float, kind: str, **told: Any) -> Event:
    return Event(kind=kind, at=EPOCH + at, actor="Łucja", **told)


def scaled(at: float, workers: int) -> Event:
    return an_event(at, "scaled", data={"workers": workers})


def went(at: float, before: Phase, after: Phase) -> Event:
    return an_event(at, "phase", before=before.value, after=after.value)


def done(**known: Any) -> Any:
    fields = {
        "submitted_at": EPOCH,
        "phase": Phase.SUCCEEDED,
        "contract": a_contract(Reply.ADMITTED, promised=EPOCH + 900.0),
        "deadline": EPOCH + 900.0,
        "left": 0.0,
        "started_at": EPOCH + 10.0,
        "ended_at": EPOCH + 60.0,
    }
    return a_record(7, **{**fields, **known})


def told(job: Any, *events: Event) -> PastJob:
    past = past_of(job, events, NOW)
    assert isinstance(past, PastJob)
    return past


def row(past: PastJob) -> TraceJob:
    made = trace_job(past)
    assert isinstance(made, TraceJob)
    return made


def test_a_job_that_was_done_is_told_as_it_was_asked_for() -> None:
    past = told(done(), scaled(10, 2), scaled(30, 4), went(60, Phase.RUNNING, Phase.SUCCEEDED))

    assert row(past) == TraceJob(
        id="job-0007",
        arrived=EPOCH,
        steps=100.0,
        deadline=EPOCH + 900.0,
        batch=1,
        wanted=4,
        rates=tuple(LINEAR.items()),
    )
    assert past.course.stretches == (
        Stretch(EPOCH + 10, EPOCH + 30, 2),
        Stretch(EPOCH + 30, EPOCH + 60, 4),
    )
    assert (past.course.rescales, past.guesses) == (1, frozenset())


def test_sizes_beyond_the_jobs_range_are_no_part_of_its_curve() -> None:
    past = told(done(spec={"min_workers": 2, "max_workers": 2}))

    assert past.rates == ((2, 2.0),)


def test_a_declined_job_arrives_again_with_all_that_it_asked_for() -> None:
    declined = done(
        phase=Phase.DECLINED, contract=a_contract(Reply.DECLINED), started_at=None, left=100.0, promise="none"
    )

    past = told(declined)

    assert (row(past).steps, past.course.declined) == (100.0, True)


def test_a_job_that_failed_counts_with_the_steps_that_it_did() -> None:
    past = told(done(phase=Phase.FAILED, left=70.0), scaled(10, 1))

    assert (row(past).steps, past.total) == (30.0, 100.0)
    assert Guess.SHORT in past.guesses


def test_a_job_that_was_cancelled_before_it_began_is_left_out_of_a_trace() -> None:
    cancelled = done(phase=Phase.CANCELLED, started_at=None, left=100.0)

    past = told(cancelled, an_event(20, "wish", after="cancel"))

    assert trace_job(past) is LeftOut.WITHDRAWN
    assert past.wishes == (Wish(EPOCH + 20, WishKind.CANCEL),)


def test_without_a_curve_the_run_tells_the_speed() -> None:
    """100 steps in 20 s of two workers and 10 s of one: two steps per worker and second."""
    past = told(done(curve={}, ended_at=EPOCH + 40.0), scaled(10, 2), scaled(30, 1))

    assert past.rates == ((1, 2.0), (2, 4.0), (4, 8.0))
    assert past.guesses == {Guess.CURVE}


def test_without_a_number_of_steps_the_time_of_the_workers_counts() -> None:
    job = done(curve={}, spec={"steps": None}, ended_at=EPOCH + 40.0)

    past = told(job, scaled(10, 2), scaled(30, 1))

    assert (past.total, past.done, row(past).steps) == (None, 50.0, 50.0)
    assert past.guesses == {Guess.CURVE, Guess.STEPS}


def test_a_job_that_still_waits_and_tells_nothing_is_left_out() -> None:
    job = a_record(3, curve={}, spec={"steps": None}, phase=Phase.QUEUED)

    assert past_of(job, (), NOW) is LeftOut.NEVER_RAN


def test_slots_that_were_lost_with_a_node_are_not_counted_on() -> None:
    past = told(done(), scaled(10, 4), went(20, Phase.RUNNING, Phase.QUEUED), scaled(50, 2))

    assert past.course.stretches == (
        Stretch(EPOCH + 10, EPOCH + 20, 4),
        Stretch(EPOCH + 50, EPOCH + 60, 2),
    )


class TestWishes:
    def test_pauses_and_other_deadlines_are_told_with_their_moments(self) -> None:
        job = done(deadline=EPOCH + 2000.0)
        later = an_event(40, "changed", data={"deadline": [EPOCH + 900.0, EPOCH + 2000.0]})

        past = told(job, an_event(20, "wish", after="pause"), an_event(30, "wish", after="resume"), later)

        assert past.wishes == (
            Wish(EPOCH + 20, WishKind.PAUSE),
            Wish(EPOCH + 30, WishKind.RESUME),
            Wish(EPOCH + 40, WishKind.DEADLINE, EPOCH + 2000.0),
        )
        assert past.deadline == EPOCH + 900.0
        assert past.guesses == {Guess.PAUSED, Guess.DEADLINE}

    def test_a_pinned_job_has_one_size(self) -> None:
        past = told(done(pin=Pin(workers=2)))

        assert past.rates == ((2, 2.0),)
        assert past.guesses == {Guess.PINNED}

    def test_another_priority_is_a_wish_too(self) -> None:
        change = an_event(20, "changed", data={"priority": ["normal", "urgent"]})

        assert told(done(), change).wishes == (Wish(EPOCH + 20, WishKind.URGENT),)


class TestAfter:
    def test_a_job_arrives_when_the_one_before_has_ended(self) -> None:
        job = done(spec={"after": After(job="job-0001")})

        past = told(job, went(0, Phase.SUBMITTED, Phase.HELD), went(8, Phase.HELD, Phase.SUBMITTED))

        assert past.arrived == EPOCH + 8
        assert past.guesses == {Guess.HELD}

    def test_one_that_still_waits_is_left_out(self) -> None:
        job = a_record(2, spec={"after": After(job="job-0001")}, phase=Phase.HELD)

        assert past_of(job, (), NOW) is LeftOut.WAITS

    def test_one_whose_deadline_passed_meanwhile_is_left_out_of_a_trace(self) -> None:
        job = done(spec={"after": After(job="job-0001")})
        waited = told(job, went(950, Phase.HELD, Phase.SUBMITTED))

        assert trace_job(waited) is LeftOut.LATE


@pytest.mark.parametrize("phase", [Phase.FAILED, Phase.LOST])
def test_a_job_that_had_slots_did_something(phase: Phase) -> None:
    past = told(replace(done(left=100.0), phase=phase), scaled(10, 1))

    assert row(past).steps == 1.0


def test_a_job_without_slots_is_no_matter_of_policies() -> None:
    assert past_of(done(spec={"cpu_only": True}), (), NOW) is LeftOut.NO_SLOTS
