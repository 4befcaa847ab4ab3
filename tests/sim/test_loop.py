"""A whole replay, and what is written down of it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.builders import AJob, a_job, a_workload, replayed

from tenuto.model.cost import Cost
from tenuto.model.snapshot import IDLE, Rules
from tenuto.policy.fifo import FIFO
from tenuto.sim.cost import load_cost
from tenuto.sim.loop import simulate


def on(slots: int, seconds: float, arrived: float = 0.0, deadline: float = np.inf) -> AJob:
    """A job that takes so long on so many slots."""
    return a_job(left=seconds * slots, curve={slots: float(slots)}, arrived=arrived, deadline=deadline)


def test_a_replay_tells_when_each_job_started_ended_and_whether_that_was_in_time() -> None:
    jobs = [on(8, 100.0, deadline=100.0), on(8, 50.0, arrived=10.0, deadline=120.0), on(8, 5.0, arrived=20.0)]

    outcome = replayed(a_workload(jobs=jobs), FIFO)

    assert outcome.started.tolist() == [0.0, 100.0, 150.0]
    assert outcome.finished.tolist() == [100.0, 150.0, 155.0]
    assert outcome.met.tolist() == [True, False, False]
    assert outcome.admitted.all()


def test_met_means_finished_by_the_deadline_and_not_a_moment_later() -> None:
    outcome = replayed(a_workload(jobs=[on(4, 100.0, deadline=100.0), on(4, 100.0, deadline=99.99)]), FIFO)

    assert outcome.met.tolist() == [True, False]


def test_every_event_has_a_row() -> None:
    outcome = replayed(a_workload(jobs=[on(4, 100.0), on(8, 50.0, arrived=10.0)]), FIFO)
    events = outcome.events

    assert events.time.tolist() == [0.0, 10.0, 100.0, 150.0]
    assert events.busy.tolist() == [4, 4, 8, 0]
    assert events.running.tolist() == [1, 1, 1, 0]
    assert events.waiting.tolist() == [0, 1, 0, 0]
    assert events.layouts is None


def test_efficiency_is_speed_relative_to_single_slots() -> None:
    """Eight slots at four times the speed of one: half of what eight single slots would do."""
    job = a_job(left=100.0, curve={1: 1.0, 8: 4.0}, size=8)

    outcome = replayed(a_workload(jobs=[job]), FIFO)

    assert outcome.events.efficiency.tolist() == [0.5, 0.0]


def test_layouts_are_written_down_if_asked_for() -> None:
    workload = a_workload(jobs=[on(4, 100.0), on(4, 50.0)])

    outcome = simulate(
        workload, FIFO, cost=load_cost("none", workload.sizes, workload.cluster), rules=Rules(), layouts=True
    )

    assert outcome.events.layouts is not None
    assert [layout.tolist() for layout in outcome.events.layouts] == [
        [0, 0, 0, 0, 1, 1, 1, 1],
        [0, 0, 0, 0, IDLE, IDLE, IDLE, IDLE],
        [IDLE] * 8,
    ]


def test_the_overhead_is_paid_by_jobs_that_change_and_by_nobody_else() -> None:
    workload = a_workload(jobs=[on(4, 100.0), on(4, 50.0, arrived=10.0)])
    cost = load_cost("default", workload.sizes, workload.cluster)

    outcome = simulate(workload, FIFO, cost=cost, rules=Rules())

    assert outcome.finished.tolist() == pytest.approx([108.0, 68.0])


def test_progress_is_told_up_to_the_last_job() -> None:
    told: list[tuple[int, int]] = []
    workload = a_workload(jobs=[on(8, 10.0) for _ in range(5)])

    simulate(
        workload,
        FIFO,
        cost=Cost.by_size(workload.sizes, lambda _: 0.0),
        rules=Rules(),
        progress=lambda done, of: told.append((done, of)),
    )

    assert told == [(done, 5) for done in range(1, 6)]


def test_a_trace_without_jobs_is_over_at_once() -> None:
    outcome = replayed(a_workload(jobs=[]), FIFO)

    assert len(outcome.finished) == len(outcome.events.time) == 0


def test_a_policy_that_always_wants_to_be_asked_again_does_not_keep_the_replay_from_ending() -> None:
    restless = replace(FIFO, decide=lambda snap: replace(FIFO.decide(snap), wake_at=snap.now + 50.0))

    outcome = replayed(a_workload(jobs=[a_job(left=100.0, curve={1: 1.0}, size=1)]), restless)

    assert outcome.events.time.tolist() == [0.0, 50.0, 100.0]
