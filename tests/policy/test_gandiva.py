"""Gandiva: jobs take turns on the slots."""

from __future__ import annotations

import numpy as np
import pytest
from tests.builders import a_job, a_snapshot, a_workload, as_usual, replayed
from tests.policy.watching import on, watched

from tenuto.model.reservations import no_reservations
from tenuto.model.snapshot import Rules
from tenuto.policy.gandiva import GANDIVA
from tenuto.rounds.round import run_round


def test_two_jobs_of_eight_slots_on_eight_slots_get_half_of_the_time_each() -> None:
    watch = watched(a_workload(jobs=[on(8, 1e6), on(8, 1e6)]), GANDIVA, until=6000, cost=as_usual)

    assert watch.seconds.tolist() == pytest.approx([3000, 3000], abs=60 + as_usual(8))


def test_three_jobs_on_the_slots_of_two_get_two_thirds_of_the_time_each() -> None:
    watch = watched(a_workload(jobs=[on(4, 1e6)] * 3), GANDIVA, until=18000)

    assert watch.seconds.tolist() == pytest.approx([12000] * 3, abs=60)


def test_slots_are_divided_between_sizes_in_proportion_to_what_they_ask_for_together() -> None:
    """Two jobs of 8 ask for 16 slots, eight of 1 for 8, four of 2 for 8: half, a quarter, a quarter of 16 slots."""
    sizes = np.array([8, 8] + [1] * 8 + [2] * 4)

    watch = watched(
        a_workload(jobs=[on(int(size), 1e6) for size in sizes], nodes=(8, 8)), GANDIVA, until=36000
    )

    used = {size: float((watch.seconds * sizes)[sizes == size].sum()) / 36000 for size in (8, 1, 2)}
    assert used == pytest.approx({8: 8.0, 1: 4.0, 2: 4.0}, abs=0.5)


def test_a_turn_lasts_a_quantum_of_work_after_the_start_is_paid() -> None:
    watch = watched(a_workload(jobs=[on(8, 1e6), on(8, 1e6)]), GANDIVA, until=150, cost=as_usual)

    assert watch.times == [0.0, as_usual(8) + 60.0, 2 * (as_usual(8) + 60.0)]


def test_a_quantum_is_not_shorter_than_the_interval() -> None:
    hurried = GANDIVA.tuned(quantum=10.0)
    workload = a_workload(jobs=[on(8, 1e6), on(8, 1e6)])

    assert watched(workload, hurried, until=200, rules=Rules(interval=90.0)).times == [0.0, 90.0, 180.0]
    assert watched(workload, hurried, until=25, rules=Rules(interval=0.0)).times == [0.0, 10.0, 20.0]


def test_jobs_end_even_if_a_start_costs_more_than_a_quantum() -> None:
    outcome = replayed(a_workload(jobs=[on(8, 100), on(8, 100)]), GANDIVA, cost=lambda _: 1000.0)

    assert outcome.finished.tolist() == [3 * 1000 + 160, 4 * 1000 + 200]


def test_who_fits_beside_everybody_is_never_stopped() -> None:
    outcome = replayed(a_workload(jobs=[on(5, 600), on(5, 600), on(3, 1000)]), GANDIVA)

    assert outcome.changes[2] == 1
    assert outcome.finished[2] == pytest.approx(1000)


def test_nobody_is_woken_or_stopped_while_everybody_fits() -> None:
    outcome = replayed(a_workload(jobs=[on(4, 1000), on(4, 500), on(4, 100, arrived=500)]), GANDIVA)

    assert outcome.changes.tolist() == [1, 1, 1]
    assert outcome.events.time.tolist() == [0, 500, 600, 1000]


def test_completions_between_arrivals_make_room_at_once() -> None:
    outcome = replayed(a_workload(jobs=[on(4, 20), on(4, 1000), on(4, 10)]), GANDIVA)

    assert outcome.started[2] == pytest.approx(20)


def test_a_newcomer_waits_for_the_next_turn_and_then_shares_the_time_with_an_old_job() -> None:
    old, newcomer = on(8, 1e6), on(8, 1e6, arrived=36000.0)

    watch = watched(a_workload(jobs=[old, newcomer]), GANDIVA, until=36000 + 6000)

    assert watch.seconds.tolist() == pytest.approx([36000 + 3000, 3000], abs=60)


def test_it_begins_anew_where_another_policy_ruled() -> None:
    snap = a_snapshot(jobs=[a_job(size=8, on=range(8)), a_job(size=8)], now=500.0, memory=no_reservations())

    assert run_round(snap, GANDIVA).wake_at == 560.0


@pytest.mark.parametrize("quantum", [0.0, -1.0, float("inf")])
def test_a_quantum_must_be_a_time(quantum: float) -> None:
    with pytest.raises(ValueError, match="quantum must be above 0"):
        GANDIVA.tuned(quantum=quantum)
