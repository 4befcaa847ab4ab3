"""First in, first out: fixed sizes, back-filling, urgent first."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from tests.builders import AJob, a_job, a_snapshot, a_workload, replayed
from tests.properties.strategies import submissions_of

from tenuto.model.snapshot import Placement, Rules
from tenuto.policy.fifo import FIFO
from tenuto.rounds.round import run_round


def on(slots: int, seconds: float) -> AJob:
    """A job that takes so long on so many slots."""
    return a_job(left=seconds * slots, curve={slots: float(slots)})


def test_jobs_start_in_order_on_the_slots_they_asked_for() -> None:
    outcome = replayed(a_workload(jobs=[on(4, 100), on(4, 50), on(8, 10)]), FIFO)

    assert outcome.started.tolist() == [0.0, 0.0, 100.0]
    assert outcome.last_size.tolist() == [4, 4, 8]
    assert outcome.changes.tolist() == [1, 1, 1]


def test_a_job_asks_for_one_size_and_gets_no_other() -> None:
    result = run_round(a_snapshot(jobs=[a_job(size=2, new=True)]), FIFO)

    assert np.count_nonzero(result.plan.layout == 0) == 2


def test_short_jobs_fill_the_gap_before_a_large_one_and_long_ones_do_not() -> None:
    running, head, short, long = on(6, 100), on(8, 10), on(2, 100), on(2, 101)

    outcome = replayed(a_workload(jobs=[running, head, long, short]), FIFO)

    assert outcome.started.tolist() == [0.0, 100.0, 110.0, 0.0]


def test_a_long_job_may_start_if_there_is_room_beside_the_first_in_line() -> None:
    running, head, long = on(4, 100), on(6, 10), on(2, 500)

    outcome = replayed(a_workload(jobs=[running, head, long]), FIFO)

    assert outcome.started.tolist() == [0.0, 100.0, 0.0]


def test_two_long_jobs_do_not_both_take_the_room_beside_the_first_in_line() -> None:
    running, head = on(4, 100), on(6, 10)

    outcome = replayed(a_workload(jobs=[running, head, on(2, 500), on(2, 500)]), FIFO)

    assert outcome.started.tolist() == [0.0, 100.0, 0.0, 110.0]


def test_the_urgent_job_goes_first() -> None:
    jobs = [a_job(curve={8: 8.0}, new=True), a_job(curve={8: 8.0}, new=True, urgent=True)]

    layout = run_round(a_snapshot(jobs=jobs), FIFO).plan.layout

    assert (layout == 1).all()


def test_nobody_is_stopped_for_an_urgent_job() -> None:
    jobs = [a_job(curve={8: 8.0}, on=range(8)), a_job(curve={8: 8.0}, new=True, urgent=True)]

    assert run_round(a_snapshot(jobs=jobs), FIFO).actions == ()


def test_who_asks_for_a_size_that_nobody_ever_measured_waits_without_harm() -> None:
    snap = a_snapshot(jobs=[a_job(size=2), a_job(size=2), a_job(size=2)])
    snap = replace(snap, requested=np.array([3, 16, 2]))

    assert FIFO.decide(snap).sizes.tolist() == [0, 0, 2]


@settings(max_examples=60)
@given(jobs=submissions_of(powers_only=False))
def test_nobody_behind_the_first_in_line_delays_it(jobs: list[AJob]) -> None:
    """Replay once more without all who came after the first job that had to wait."""
    rules = Rules(placement=Placement.PACK)
    jobs = sorted(jobs, key=lambda job: job.arrived)
    outcome = replayed(a_workload(jobs=jobs), FIFO, rules=rules)
    waited = np.flatnonzero(outcome.started > [job.arrived for job in jobs])
    if len(waited):
        head = int(waited[0])

        undisturbed = replayed(a_workload(jobs=jobs[: head + 1]), FIFO, rules=rules)

        assert outcome.started[head] == pytest.approx(undisturbed.started[head], abs=1e-5)
