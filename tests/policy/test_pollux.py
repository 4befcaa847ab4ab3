"""Pollux: sizes by a fair mean of speedups, and changes only where they are worth their cost."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise, product
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.builders import FLATTENING, LINEAR, AJob, Seconds, a_job, a_snapshot, a_workload, free_of_charge
from tests.policy.watching import watched

from tenuto.model.plan import Decision, Why
from tenuto.model.reservations import no_reservations
from tenuto.model.snapshot import Rules
from tenuto.policy.pollux import POLLUX
from tenuto.policy.pollux.knapsack import cheapest
from tenuto.policy.pollux.policy import History

EVERY_MINUTE = Rules(interval=60.0, margin=0.0)


def decided(jobs: list[AJob], *, now: float = 0.0, cost: Seconds = free_of_charge) -> Decision:
    return POLLUX.decide(a_snapshot(jobs=jobs, now=now, cost=cost, rules=EVERY_MINUTE))


def a_minute(_: int) -> float:
    return 60.0


def test_equal_jobs_get_equal_shares() -> None:
    assert decided([a_job() for _ in range(4)]).sizes.tolist() == [2, 2, 2, 2]


def test_a_job_alone_gets_all_it_can_use() -> None:
    assert decided([a_job()]).sizes.tolist() == [8]


def test_a_job_that_does_not_scale_stays_small() -> None:
    flat = {1: 1.0, 2: 1.0, 4: 1.0, 8: 1.0}

    assert decided([a_job(curve=flat), a_job()]).sizes.tolist() == [1, 4]


def test_everybody_gets_something_while_there_are_slots() -> None:
    sizes = decided([a_job(curve=LINEAR if row % 2 else FLATTENING) for row in range(7)]).sizes

    assert sizes.min() >= 1
    assert sizes.sum() == 8


def test_who_runs_is_not_stopped_for_another_that_is_as_good() -> None:
    running = [a_job(on=[slot], curve={1: 1.0}) for slot in range(8)]

    sizes = decided([*running[:4], a_job(curve={1: 1.0}), *running[4:]], now=100.0, cost=a_minute).sizes

    assert sizes.tolist() == [1, 1, 1, 1, 0, 1, 1, 1, 1]


@pytest.mark.parametrize(("fairness", "sizes"), [(1.0, [0, 8]), (-1.0, [4, 4])])
def test_fairness_decides_how_much_the_slowest_counts(fairness: float, sizes: list[int]) -> None:
    """Eight slots give the second job three times the speed, and the first only half as much more."""
    slow = {4: 1.0, 8: 1.5}
    fast = {4: 1.0, 8: 3.0}
    snap = a_snapshot(jobs=[a_job(curve=slow), a_job(curve=fast)])

    assert POLLUX.tuned(fairness=fairness).decide(snap).sizes.tolist() == sizes


@pytest.mark.parametrize("fairness", [1.5, inf, -101.0, -inf, float("nan")])
def test_fairness_is_a_number_up_to_one(fairness: float) -> None:
    with pytest.raises(ValueError, match="fairness"):
        POLLUX.tuned(fairness=fairness)


def test_at_the_utmost_fairness_everybody_still_gets_something() -> None:
    snap = a_snapshot(jobs=[a_job(curve={1: 1.0, 4: 2.0, 8: 3.0}), a_job(curve={1: 1.0, 4: 3.9, 8: 7.0})])

    assert (POLLUX.tuned(fairness=-100.0).decide(snap).sizes > 0).all()


def test_a_young_job_is_not_changed_for_little_but_an_old_one_is() -> None:
    jobs = [a_job(on=[0, 1, 2, 3], curve={4: 1.0, 8: 1.2})]

    young, old = (decided(jobs, now=now, cost=a_minute) for now in (100.0, 10_000.0))

    assert young.sizes.tolist() == [4]
    assert old.sizes.tolist() == [8]


def test_a_change_that_was_not_worth_it_is_thought_of_again_when_the_job_is_older() -> None:
    jobs = [a_job(on=[0, 1, 2, 3], curve={4: 1.0, 8: 1.2})]

    young, old = (decided(jobs, now=now, cost=a_minute) for now in (100.0, 10_000.0))

    assert young.wake_at == 160.0
    assert old.wake_at == inf


def test_what_changes_have_cost_counts_against_the_next_one() -> None:
    """The same job at the same age, once with all its time lost by changes."""
    jobs = [a_job(on=[0, 1, 2, 3], curve={4: 1.0, 8: 1.2}, changed_at=50.0, ready_at=50.0)]
    snap = a_snapshot(jobs=jobs, now=2000.0, cost=a_minute, rules=EVERY_MINUTE)
    history = History(0.0, np.array([0]), np.array([50.0]), np.array([0.0]))

    calm = POLLUX.decide(replace(snap, memory=history))
    worn = POLLUX.decide(replace(snap, memory=replace(history, lost=np.array([1000.0]))))

    assert calm.sizes.tolist() == [8]
    assert worn.sizes.tolist() == [4]


def test_the_cost_of_every_change_after_the_first_start_is_remembered() -> None:
    waiting = History(0.0, np.array([0, 1]), np.array([-inf, 20.0]), np.array([0.0, 5.0]))
    jobs = [
        a_job(on=[0], changed_at=100.0, ready_at=130.0),
        a_job(on=[1], changed_at=100.0, ready_at=130.0),
        a_job(on=[2], changed_at=100.0, ready_at=130.0),
    ]

    memory = POLLUX.decide(a_snapshot(jobs=jobs, now=200.0, memory=waiting)).memory

    assert memory.number.tolist() == [0, 1, 2]
    assert memory.lost.tolist() == [0.0, 35.0, 0.0]


def test_sizes_are_chosen_at_most_once_in_an_interval() -> None:
    jobs = [a_job(on=[0, 1, 2, 3, 4, 5, 6, 7]), a_job(arrived=30.0, new=True)]
    history = History(0.0, np.array([0]), np.array([0.0]), np.array([0.0]))

    soon, later = (
        POLLUX.decide(a_snapshot(jobs=jobs, now=now, memory=history, rules=EVERY_MINUTE))
        for now in (30.0, 60.0)
    )

    assert soon.sizes.tolist() == [8, 0]
    assert soon.wake_at == 60.0
    assert soon.verdicts[1].why is Why.NO_PROMISE_ASKED
    assert later.sizes.tolist() == [4, 4]


def test_another_policys_memory_means_nothing() -> None:
    snap = a_snapshot(jobs=[a_job()])

    assert POLLUX.decide(replace(snap, memory=no_reservations())).sizes.tolist() == [8]


def test_a_newcomer_that_no_node_can_hold_is_refused() -> None:
    decision = decided([a_job(curve={16: 1.0}, new=True), a_job(new=True)])

    assert decision.verdicts[0].why is Why.TOO_LARGE
    assert decision.sizes.tolist() == [0, 8]


def test_no_size_lasts_less_than_an_interval_while_its_job_lives() -> None:
    workload = a_workload(jobs=[a_job(arrived=7.0 * row, left=500.0 + 90.0 * row) for row in range(8)])

    watch = watched(workload, POLLUX, until=4000.0, cost=a_minute, rules=EVERY_MINUTE)

    changed = [
        time
        for (before, after), time in zip(pairwise(watch.held), watch.times[1:], strict=True)
        if ((before != after) & (after > 0)).any()
    ]
    assert len(changed) > 3
    assert all(later - earlier >= 60.0 - 1e-6 for earlier, later in pairwise(changed))


@given(
    prices=st.lists(st.lists(st.integers(0, 9), min_size=3, max_size=3), min_size=0, max_size=4),
    capacity=st.integers(0, 7),
)
@settings(max_examples=100)
def test_the_knapsack_finds_what_trying_everything_finds(prices: list[list[int]], capacity: int) -> None:
    sizes = np.array([0, 1, 3])
    price = np.array(prices, dtype=np.float64).reshape(len(prices), 3)

    chosen = cheapest(price, sizes, capacity)

    assert sizes[chosen].sum() <= capacity
    rows = np.arange(len(prices))
    possible = [
        price[rows, list(choice)].sum()
        for choice in product(range(3), repeat=len(prices))
        if sizes[list(choice)].sum() <= capacity
    ]
    assert price[rows, chosen].sum() == min(possible)
