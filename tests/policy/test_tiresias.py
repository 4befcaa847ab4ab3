"""Tiresias: who has had least goes first."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from tests.builders import Seconds, a_job, a_snapshot, a_workload, as_usual, replayed
from tests.policy.watching import on, watched
from tests.properties.strategies import costs, workloads

from tenuto.model.plan import Decision
from tenuto.model.reservations import no_reservations
from tenuto.model.snapshot import Snapshot
from tenuto.policy.tiresias import TIRESIAS, Attained
from tenuto.rounds.round import run_round
from tenuto.sim.workload import Workload


def test_a_job_of_four_slots_falls_after_3250_over_4_seconds() -> None:
    first, second = on(4, 5000), on(4, 100)

    outcome = replayed(a_workload(jobs=[first, second], nodes=(4,)), TIRESIAS)

    assert outcome.started[1] == pytest.approx(3250 / 4, abs=1e-5)
    assert outcome.finished.tolist() == pytest.approx([5100, 3250 / 4 + 100], abs=1e-5)


@pytest.mark.parametrize(("slots", "service"), [(1, 3250), (4, 3250), (8, 7200)])
def test_it_asks_to_be_woken_when_the_next_job_falls(slots: int, service: float) -> None:
    had = 0.0 if service == 3250 else 3250.0 / slots
    memory = Attained(0.0, np.arange(2), np.array([had, had]), np.zeros(2))
    jobs = [a_job(curve={slots: 1.0}, on=range(slots)), a_job(curve={slots: 1.0})]
    snap = a_snapshot(jobs=jobs, nodes=(slots,), memory=memory)

    assert run_round(snap, TIRESIAS).wake_at == pytest.approx(service / slots - had)


def test_nobody_is_woken_while_everybody_runs() -> None:
    watch = watched(a_workload(jobs=[on(4, 20000), on(4, 20000)]), TIRESIAS, until=50000)

    assert watch.times == [0.0, 20000.0]


def test_a_fall_that_lets_nobody_pass_wakes_nobody() -> None:
    """Who waits in the last queue stays behind a job that falls from the first to the second."""
    memory = Attained(0.0, np.arange(2), np.array([0.0, 9000.0]), np.zeros(2))
    snap = a_snapshot(jobs=[a_job(curve={8: 8.0}, on=range(8)), a_job(curve={8: 8.0})], memory=memory)

    assert run_round(snap, TIRESIAS).wake_at == inf


def test_a_fall_by_two_queues_is_foreseen_if_somebody_waits_in_between() -> None:
    memory = Attained(0.0, np.arange(2), np.array([100.0, 500.0]), np.zeros(2))
    snap = a_snapshot(jobs=[a_job(curve={8: 8.0}, on=range(8)), a_job(curve={8: 8.0})], memory=memory)

    assert run_round(snap, TIRESIAS).wake_at == 7200 / 8 - 100.0


def test_a_newcomer_stops_who_has_had_much_and_the_stopped_one_pays_its_start_again() -> None:
    old, newcomer = on(8, 2000), on(8, 100, arrived=1000.0)

    outcome = replayed(a_workload(jobs=[old, newcomer]), TIRESIAS, cost=as_usual)

    start = as_usual(8)
    assert outcome.started[1] == 1000.0
    assert outcome.finished.tolist() == [2000 + start + 100 + start + start, 1000 + start + 100]
    assert outcome.changes.tolist() == [3, 1]


def test_nobody_is_stopped_for_somebody_of_its_own_queue() -> None:
    jobs = [on(8, 300), on(8, 300), on(8, 300)]

    outcome = replayed(a_workload(jobs=jobs), TIRESIAS)

    assert outcome.changes.tolist() == [1, 1, 1]
    assert outcome.finished.tolist() == [300, 600, 900]


def test_in_the_last_queue_jobs_run_to_their_ends_in_the_order_of_entering_it() -> None:
    """The third enters it first, then the first; the second falls into it last and goes on, because it runs."""
    jobs = [on(8, 5000) for _ in range(3)]

    outcome = replayed(a_workload(jobs=jobs), TIRESIAS)

    assert outcome.finished.tolist() == pytest.approx([15000, 900 + 900 + 5000, 900 + 10000], abs=1e-4)
    assert outcome.preempted.tolist() == [2, 1, 1]


def test_smaller_jobs_run_beside_a_large_one_that_does_not_fit() -> None:
    outcome = replayed(a_workload(jobs=[on(4, 100), on(8, 100), on(2, 100)]), TIRESIAS)

    assert outcome.started.tolist() == [0, 100, 0]


def test_a_fall_is_dated_when_it_happened_even_if_it_is_noticed_late() -> None:
    memory = Attained(0.0, np.arange(1), np.zeros(1), np.zeros(1))
    snap = a_snapshot(jobs=[a_job(size=1, on=[0])], now=5000.0, memory=memory)

    after = run_round(snap, TIRESIAS).memory

    assert after.seconds.tolist() == [5000.0]
    assert after.entered.tolist() == [3250.0]


def test_a_newcomer_came_into_the_first_queue_when_it_arrived() -> None:
    memory = Attained(0.0, np.arange(1), np.zeros(1), np.zeros(1))
    jobs = [a_job(curve={8: 1.0}, on=range(8)), a_job(curve={8: 1.0}, arrived=70.0, new=True)]

    after = run_round(a_snapshot(jobs=jobs, now=90.0, memory=memory), TIRESIAS).memory

    assert after.entered.tolist() == [0.0, 70.0]


def test_waiting_is_no_service() -> None:
    memory = Attained(0.0, np.arange(2), np.array([10.0, 20.0]), np.zeros(2))
    jobs = [a_job(curve={8: 1.0}, on=range(8)), a_job(curve={8: 1.0})]

    after = run_round(a_snapshot(jobs=jobs, now=100.0, memory=memory), TIRESIAS).memory

    assert after.seconds.tolist() == [110.0, 20.0]


@settings(max_examples=60)
@given(workload=workloads(), cost=costs)
def test_being_asked_more_often_than_it_wishes_changes_nothing(workload: Workload, cost: Seconds) -> None:
    strict = TIRESIAS.tuned(first_limit=100.0, second_limit=300.0)

    def restless(snap: Snapshot) -> Decision:
        decision = strict.decide(snap)
        return replace(decision, wake_at=min(decision.wake_at, snap.now + 17.0) if len(snap) else np.inf)

    calm = replayed(workload, strict, cost=cost)
    often = replayed(workload, replace(strict, decide=restless), cost=cost)

    assert often.finished == pytest.approx(calm.finished, abs=1e-3, nan_ok=True)
    assert often.changes.tolist() == calm.changes.tolist()


def test_it_begins_anew_where_another_policy_ruled() -> None:
    snap = a_snapshot(jobs=[a_job(on=[0])], now=500.0, memory=no_reservations())

    after = run_round(snap, TIRESIAS).memory

    assert after.seconds.tolist() == [0.0]


def test_the_limits_can_be_set() -> None:
    strict = TIRESIAS.tuned(first_limit=80.0, second_limit=160.0)

    outcome = replayed(a_workload(jobs=[on(8, 100), on(8, 5)]), strict)

    assert outcome.started[1] == pytest.approx(10.0, abs=1e-5)
    with pytest.raises(ValueError, match="second not below the first"):
        TIRESIAS.tuned(first_limit=8000.0)


def test_who_does_not_fit_on_what_is_left_of_the_cluster_waits_for_its_return() -> None:
    snap = a_snapshot(jobs=[a_job(size=8), a_job(size=4)], nodes=(4, 4), lost=[0])

    result = run_round(snap, TIRESIAS)
    whole = run_round(a_snapshot(jobs=[a_job(size=8), a_job(size=4)], nodes=(4, 4)), TIRESIAS)

    assert set(result.plan.layout.tolist()) == {-2, 1}
    assert set(whole.plan.layout.tolist()) == {0}
    assert result.wake_at == inf
