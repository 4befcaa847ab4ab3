"""Themis: leases by finish-time fairness. Each formula by itself, then what comes of them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.builders import FLATTENING, LINEAR, a_job, a_snapshot, a_workload, as_usual
from tests.policy.watching import on, watched

from tenuto.model.columns import Floats
from tenuto.model.reservations import no_reservations
from tenuto.model.snapshot import Rules
from tenuto.policy.themis import THEMIS, Leases, fair_parts, rate_alone
from tenuto.policy.turns import Turns
from tenuto.rounds.round import run_round


def parts_of(
    *, since_arrival: list[float], running: list[float], alone: list[float], slots: list[int], capacity: int
) -> Floats:
    return fair_parts(
        since_arrival=np.array(since_arrival),
        running=np.array(running),
        alone=np.array(alone),
        slots=np.array(slots),
        capacity=capacity,
    )


@pytest.mark.parametrize(
    ("share", "rate"),
    [
        (16.0, 4.0),  # more than it asked for: the speed on what it asked for
        (8.0, 4.0),
        (4.0, 3.0),
        (3.0, 3.0 * 3 / 4),  # four slots for three quarters of the time beat two slots
        (2.0, 1.8),
        (1.0, 1.0),
        (0.5, 0.5),  # one slot for half of the time
    ],
)
def test_the_speed_alone_is_the_curves_at_the_fair_share(share: float, rate: float) -> None:
    snap = a_snapshot(jobs=[a_job(curve=FLATTENING, size=8)])

    assert rate_alone(snap, share).tolist() == pytest.approx([rate])


def test_nobody_is_faster_alone_than_on_the_slots_it_asked_for() -> None:
    snap = a_snapshot(jobs=[a_job(curve=LINEAR, size=2), a_job(curve=LINEAR, size=8)])

    assert rate_alone(snap, 4.0).tolist() == [2.0, 4.0]


def test_equal_jobs_are_owed_equal_parts() -> None:
    parts = parts_of(
        since_arrival=[0.0] * 3, running=[100.0] * 3, alone=[300.0] * 3, slots=[8] * 3, capacity=8
    )

    assert parts.tolist() == pytest.approx([1 / 3] * 3)


def test_a_job_that_ran_alone_before_is_owed_as_much_from_now_on_as_its_equal_that_has_just_come() -> None:
    """By hand, in hours: (10 + 10 / x) / 30 = (20 / (1 - x)) / 40 has the solution x = 1/2; both ratios are 1."""
    parts = parts_of(
        since_arrival=[10.0, 0.0], running=[10.0, 20.0], alone=[30.0, 40.0], slots=[8, 8], capacity=8
    )

    assert parts.tolist() == pytest.approx([0.5, 0.5], abs=1e-5)


def test_who_has_waited_is_owed_more() -> None:
    """By hand: 100 s waited, (100 + 100 / x) / 200 = (100 / (1 - x)) / 200, so x = (√5 - 1) / 2."""
    parts = parts_of(
        since_arrival=[100.0, 0.0], running=[100.0, 100.0], alone=[200.0, 200.0], slots=[4, 4], capacity=4
    )

    assert parts.tolist() == pytest.approx([(5**0.5 - 1) / 2, (3 - 5**0.5) / 2], abs=1e-5)


def test_who_is_late_even_if_it_always_runs_gets_all_it_can_use_and_the_others_share_the_rest_fairly() -> (
    None
):
    parts = parts_of(
        since_arrival=[10000.0, 0.0, 0.0],
        running=[100.0, 100.0, 100.0],
        alone=[300.0, 300.0, 300.0],
        slots=[4, 4, 4],
        capacity=8,
    )

    assert parts.tolist() == pytest.approx([1.0, 0.5, 0.5], abs=1e-5)


def test_units_do_not_matter_as_long_as_all_are_times() -> None:
    seconds = [[3600.0, 60.0], [1200.0, 600.0], [4000.0, 900.0]]
    hours = [[value / 3600.0 for value in row] for row in seconds]

    in_seconds, in_hours = (
        parts_of(since_arrival=a, running=b, alone=c, slots=[8, 2], capacity=8)
        for a, b, c in (seconds, hours)
    )

    assert in_seconds.tolist() == pytest.approx(in_hours.tolist(), abs=1e-5)


times = st.floats(1.0, 1e6)


@settings(max_examples=200)
@given(
    jobs=st.lists(
        st.tuples(st.floats(0.0, 1e6), times, times, st.sampled_from([1, 2, 4, 8])), min_size=2, max_size=10
    ),
    tightness=st.floats(0.1, 0.95),
)
def test_all_have_the_same_ratio_except_who_has_a_larger_one_although_it_always_runs(
    jobs: list[tuple[float, float, float, int]], tightness: float
) -> None:
    since_arrival, running, alone, slots = (np.array(column) for column in zip(*jobs, strict=True))
    capacity = max(int(slots.sum() * tightness), 1)

    parts = fair_parts(
        since_arrival=since_arrival, running=running, alone=alone, slots=slots, capacity=capacity
    )

    ratio = (since_arrival + running / parts) / alone
    level = ratio[parts < 1.0].max()
    assert (parts > 0.0).all()
    assert (parts <= 1.0).all()
    assert parts @ slots <= capacity * (1 + 1e-9)
    assert ratio[parts < 1.0] == pytest.approx(level, rel=1e-9)
    assert (ratio[parts == 1.0] >= level * (1 - 1e-9)).all()
    # Nothing is kept back: a slightly smaller ratio asks for more than there is.
    smaller = running / np.maximum(level * (1 - 1e-5) * alone - since_arrival, running)
    assert smaller @ slots > capacity * (1 - 1e-12)


def test_the_time_alone_counts_work_done_at_the_speed_of_its_time_and_work_to_do_at_the_present_one() -> None:
    """100 steps were done while the share was worth 4 steps/s."""
    before = Leases(
        Turns(0.0, 60.0, np.arange(2), np.zeros(2), np.ones(2)),
        left=np.array([500.0, 300.0]),
        alone=np.array([7.0, 0.0]),
        alone_rate=np.array([4.0, 4.0]),
    )
    jobs = [a_job(left=400.0, size=8, on=range(8)), a_job(left=300.0, size=8), a_job(left=1.0, new=True)]

    after = run_round(a_snapshot(jobs=jobs, now=30.0, memory=before), THEMIS).memory

    assert after.alone.tolist() == [7.0 + 100.0 / 4.0, 0.0, 0.0]
    assert after.alone_rate.tolist() == pytest.approx([8 / 3, 8 / 3, 1.0])
    assert after.left.tolist() == [400.0, 300.0, 1.0]


def test_who_cannot_run_on_what_is_left_of_the_cluster_takes_nothing_from_the_others_share() -> None:
    jobs = [a_job(curve=LINEAR, size=8), a_job(curve=LINEAR, size=4), a_job(curve=LINEAR, size=4)]

    after = run_round(a_snapshot(jobs=jobs, nodes=(4, 4), lost=[0]), THEMIS).memory

    assert after.alone_rate[1:].tolist() == [2.0, 2.0]


@pytest.mark.parametrize("until", [600.0, 660.0, 6000.0])
def test_two_equal_jobs_get_equal_numbers_of_leases_but_for_one(until: float) -> None:
    watch = watched(a_workload(jobs=[on(8, 1e5), on(8, 1e5)]), THEMIS, until=until)

    leases = watch.seconds / 60.0
    assert leases.sum() == pytest.approx(until / 60.0)
    assert abs(leases[0] - leases[1]) <= 1.0 + 1e-6


def test_a_lease_lasts_as_set_after_the_start_is_paid_but_not_less_than_an_interval() -> None:
    workload = a_workload(jobs=[on(8, 1e5), on(8, 1e5)])
    short = THEMIS.tuned(lease=20.0)

    assert watched(workload, short, until=50, rules=Rules(interval=0.0)).times == [0.0, 20.0, 40.0]
    assert watched(workload, short, until=70, cost=as_usual).times == [0.0]
    assert watched(workload, short, until=71, cost=as_usual).times == [0.0, 60.0 + as_usual(8)]


def test_who_waited_long_is_served_more_often_until_it_has_caught_up() -> None:
    """Both came at the same time; the second could not run for an hour, because its node was away."""
    before = Leases(
        Turns(3600.0, 3600.0, np.arange(2), np.zeros(2), np.ones(2)),
        left=np.array([8e5, 1e6]),
        alone=np.array([3600.0, 0.0]),
        alone_rate=np.array([4.0, 4.0]),
    )
    jobs = [a_job(left=8e5, size=8, on=range(8)), a_job(left=1e6, size=8)]

    turns = run_round(a_snapshot(jobs=jobs, now=3600.0, memory=before), THEMIS).memory.turns

    assert turns.weight.sum() == pytest.approx(1.0, abs=1e-5)
    assert turns.weight[1] > turns.weight[0]


def test_while_everybody_fits_everybody_is_owed_all_of_the_time_and_nobody_is_woken() -> None:
    result = run_round(a_snapshot(jobs=[a_job(size=4, new=True), a_job(size=4, new=True)]), THEMIS)

    assert result.memory.turns.weight.tolist() == [1.0, 1.0]
    assert result.wake_at == np.inf


def test_a_job_with_nothing_left_to_do_does_not_disturb_the_arithmetic() -> None:
    jobs = [a_job(left=0.0, size=8, new=True), a_job(size=8, new=True)]

    assert run_round(a_snapshot(jobs=jobs), THEMIS).memory.turns.weight.sum() == pytest.approx(1.0, abs=1e-5)


def test_it_begins_anew_where_another_policy_ruled() -> None:
    jobs = [a_job(size=8, on=range(8)), a_job(size=8)]
    snap = a_snapshot(jobs=jobs, now=500.0, memory=no_reservations())

    result = run_round(snap, THEMIS)

    assert result.wake_at == 560.0
    assert result.memory.alone.tolist() == [0.0, 0.0]


@pytest.mark.parametrize("lease", [0.0, -1.0, float("inf")])
def test_a_lease_must_be_a_time(lease: float) -> None:
    with pytest.raises(ValueError, match="lease must be above 0"):
        THEMIS.tuned(lease=lease)
