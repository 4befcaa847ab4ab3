"""Taking turns: clocks, weights, and what happens between two turns."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from tests.builders import a_job, a_snapshot, a_workload
from tests.policy.watching import on, watched

from tenuto.model.cost import Cost
from tenuto.model.plan import Decision
from tenuto.model.snapshot import Snapshot
from tenuto.policy.base import Policy
from tenuto.policy.fixed import verdicts, wishes_of
from tenuto.policy.turns import LEAD, Turns, no_turns, take_turns


@dataclass(frozen=True)
class ByWeight:
    """Turns of a minute; each job is owed what the test says."""

    owed: tuple[float, ...]

    def __call__(self, snap: Snapshot) -> Decision:
        before = snap.memory if isinstance(snap.memory, Turns) else no_turns(snap.now)
        weight = np.array(self.owed)[snap.number]
        sizes, turns = take_turns(snap, wishes_of(snap), before, weight, 60.0)
        return Decision(sizes, verdicts(snap), turns.ends, turns)


def by_weight(*owed: float) -> Policy:
    return Policy("by-weight", "As owed.", ByWeight(owed), promises=False)


def turns(*, ends: float, ahead: list[float], at: float = 0.0) -> Turns:
    """Memory of a round at 0 in which everybody was owed the same."""
    return Turns(at, ends, np.arange(len(ahead)), np.array(ahead), np.ones(len(ahead)))


def test_time_goes_in_proportion_to_the_weights() -> None:
    jobs = [on(8, 1e6), on(8, 1e6), on(8, 1e6)]

    watch = watched(a_workload(jobs=jobs), by_weight(0.5, 0.3, 0.2), until=60000)

    assert (watch.seconds / 60000).tolist() == pytest.approx([0.5, 0.3, 0.2], abs=0.01)


def test_a_large_job_runs_as_often_as_many_small_ones() -> None:
    jobs = [on(8, 1e6), *(on(1, 1e6) for _ in range(16))]

    watch = watched(a_workload(jobs=jobs), by_weight(*[1 / 3] * 17), until=18000)

    assert (watch.seconds / 18000).tolist() == pytest.approx([1 / 3] * 17, abs=0.02)


def test_between_two_turns_idle_slots_are_given_away_and_nobody_is_stopped() -> None:
    snap = a_snapshot(
        jobs=[a_job(size=4, on=range(4)), a_job(size=8), a_job(size=4), a_job(size=2)],
        now=30.0,
        memory=turns(ends=60.0, ahead=[50.0, 0.0, 20.0, 10.0]),
    )

    decision = by_weight(1, 1, 1, 1).decide(snap)

    assert decision.sizes.tolist() == [4, 0, 4, 0]
    assert decision.wake_at == 60.0


def test_when_a_turn_is_over_the_least_served_come_first() -> None:
    snap = a_snapshot(
        jobs=[a_job(size=4, on=range(4)), a_job(size=8), a_job(size=4)],
        now=60.0,
        memory=turns(ends=60.0, ahead=[0.0, 0.0, 100.0]),
    )

    decision = by_weight(1, 1, 1).decide(snap)

    assert decision.sizes.tolist() == [0, 8, 0]
    assert decision.wake_at == 120.0
    assert decision.memory.ahead.tolist() == [60.0, 0.0, 100.0]


def test_among_equals_who_runs_goes_on() -> None:
    snap = a_snapshot(
        jobs=[a_job(size=8), a_job(size=8, on=range(8))],
        now=60.0,
        memory=turns(ends=60.0, ahead=[80.0, 20.0]),
    )

    assert by_weight(1, 1).decide(snap).sizes.tolist() == [0, 8]


def test_a_newcomer_begins_with_the_least_served_and_not_before() -> None:
    snap = a_snapshot(
        jobs=[a_job(size=8, on=range(8)), a_job(size=8), a_job(size=8, new=True)],
        now=30.0,
        memory=turns(ends=60.0, ahead=[100.0, 40.0]),
    )

    assert by_weight(1, 1, 1).decide(snap).memory.ahead.tolist() == [90.0, 0.0, 0.0]


def test_a_lead_from_idle_times_is_forgotten_but_for_a_few_turns() -> None:
    snap = a_snapshot(
        jobs=[a_job(size=8, on=range(8)), a_job(size=8)],
        now=30.0,
        memory=turns(ends=60.0, ahead=[5000.0, 0.0]),
    )

    assert by_weight(1, 1).decide(snap).memory.ahead.tolist() == [LEAD * 60.0, 0.0]


def test_a_turn_begins_to_count_when_the_slowest_start_is_paid_for() -> None:
    jobs = [a_job(size=1, new=True), a_job(size=4, new=True), a_job(size=8, new=True)]
    snap = a_snapshot(jobs=jobs, cost=lambda size: 100.0 * size)

    decision = by_weight(1, 1, 1).decide(snap)

    assert decision.sizes.tolist() == [0, 0, 8]
    assert decision.wake_at == 800.0 + 60.0


def test_who_still_pays_for_the_last_change_is_waited_for_too() -> None:
    jobs = [a_job(size=8, on=range(8), ready_at=25.0), a_job(size=8)]

    assert by_weight(1, 1).decide(a_snapshot(jobs=jobs, now=10.0)).wake_at == 25.0 + 60.0


def test_while_everybody_runs_there_are_no_turns() -> None:
    decision = by_weight(1, 1).decide(a_snapshot(jobs=[a_job(size=4, new=True), a_job(size=4, new=True)]))

    assert decision.wake_at == decision.memory.ends == np.inf


def test_who_cannot_run_on_what_is_left_of_the_cluster_makes_nobody_take_turns() -> None:
    decision = by_weight(1, 1).decide(a_snapshot(jobs=[a_job(size=4), a_job(size=8)], nodes=(4, 4), lost=[1]))

    assert decision.sizes.tolist() == [4, 0]
    assert decision.wake_at == np.inf


def test_where_another_policy_gave_other_sizes_a_turn_waits_for_the_rescaling() -> None:
    jobs = [a_job(curve={4: 4.0, 8: 8.0}, size=8, on=range(4)), a_job(curve={8: 8.0}, size=8)]
    seconds = [np.array([value, value]) for value in (100.0, 5.0, 7.0)]
    snap = replace(a_snapshot(jobs=jobs), cost=Cost(*seconds))

    decision = by_weight(1.0, 1.0).decide(snap)

    assert decision.sizes.tolist() == [8, 0]
    assert decision.wake_at == 5.0 + 60.0
