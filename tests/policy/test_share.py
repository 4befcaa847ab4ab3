"""One job on free capacity: its smallest sufficient share, found by the planner and by exhaustion."""

from __future__ import annotations

from functools import partial
from itertools import product
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.policy.planning import Plan, a_runner, columns, free_capacity, room, some_terms, written_in

from tenuto.policy.free import Free
from tenuto.policy.share import (
    TOLERANCE,
    Runner,
    Terms,
    as_fast_as_possible,
    fill,
    follow,
    smallest_share,
)

LINEAR = {1: 1.0, 2: 2.0, 4: 4.0}


def always(seconds: float, _: int) -> float:
    return seconds


ten = partial(always, 10.0)


def test_the_smallest_share_is_just_enough() -> None:
    terms = some_terms([1, 2, 4])
    out = room()

    count, finish = smallest_share(
        0.0, 60.0, a_runner(terms, LINEAR, 100.0), terms, free_capacity((0.0, 8)), out
    )

    assert written_in(out, count) == [(0.0, 2)]
    assert finish == 50.0


def test_a_job_waits_for_slots_that_come_free_before_its_deadline() -> None:
    terms = some_terms([1, 2, 4])
    out = room()

    count, finish = smallest_share(
        0.0, 60.0, a_runner(terms, LINEAR, 100.0), terms, free_capacity((0.0, 0), (30.0, 8)), out
    )

    assert written_in(out, count) == [(0.0, 0), (30.0, 4)]
    assert finish == 55.0


def test_a_deadline_that_no_share_can_meet_is_infeasible() -> None:
    terms = some_terms([1, 2, 4])

    count, finish = smallest_share(
        0.0, 25.0, a_runner(terms, LINEAR, 100.0), terms, free_capacity((0.0, 8)), room()
    )

    assert (count, finish) == (0, inf)


def test_the_start_is_paid_before_the_first_step() -> None:
    terms = some_terms([1, 2, 4], ten)
    out = room()

    assert as_fast_as_possible(0.0, a_runner(terms, LINEAR, 100.0), terms, free_capacity((0.0, 8)), out) == (
        1,
        35.0,
    )


def test_a_share_that_leaves_time_for_one_move_is_preferred() -> None:
    """Two slots would end at 60 exactly in time, but a move would then be too late."""
    terms = some_terms([1, 2, 4], ten)
    out = room()
    job = a_runner(terms, LINEAR, 100.0)

    count, _ = smallest_share(0.0, 61.0, job, terms, free_capacity((0.0, 8)), out)
    assert written_in(out, count) == [(0.0, 4)]

    count, _ = smallest_share(0.0, 71.0, job, terms, free_capacity((0.0, 8)), out)
    assert written_in(out, count) == [(0.0, 2)]


def test_a_short_gap_is_not_worth_a_rescale() -> None:
    """Two more slots for 15 s, of which the change would take 10: the job stays as it is."""
    terms = some_terms([1, 2, 4], ten)
    out = room()
    job = a_runner(terms, LINEAR, 100.0, held=2)

    count, finish = as_fast_as_possible(0.0, job, terms, free_capacity((0.0, 4), (15.0, 2)), out)

    assert written_in(out, count) == [(0.0, 2)]
    assert finish == 50.0


def test_a_plan_is_followed_from_the_middle() -> None:
    terms = some_terms([1, 2, 4])
    at, size = columns([(0.0, 1), (20.0, 0), (40.0, 4)])

    assert follow(10.0, a_runner(terms, LINEAR, 50.0, held=1), terms, at, size) == 50.0


def test_a_stalled_job_goes_on_when_its_change_is_paid() -> None:
    terms = some_terms([1, 2, 4], ten)
    at, size = columns([(0.0, 2)])

    assert follow(5.0, a_runner(terms, LINEAR, 20.0, held=2, ready=8.0), terms, at, size) == 18.0


# What follows compares with exhaustion. Times, work and speeds are whole numbers, so that no result lies
# within the planner's tolerance of a deadline by accident.

SIZES = (1, 2, 4, 5)
whole_curves = st.dictionaries(st.sampled_from(SIZES), st.integers(1, 8).map(float), min_size=1)


@st.composite
def profiles(draw: st.DrawFn) -> Free:
    lengths = draw(st.lists(st.integers(1, 12), max_size=5))
    begins = np.concatenate([[0.0], np.cumsum(lengths, dtype=np.float64)])
    slots = draw(st.lists(st.integers(0, 6), min_size=len(begins), max_size=len(begins)))
    slots[-1] = 6
    return free_capacity(*zip(begins.tolist(), slots, strict=True))


def most_work(free: Free, job: Runner, terms: Terms, by: float, cap: int) -> float:
    """The most steps by a moment: every combination of levels up to the cap, one for each segment."""
    begins = [*free.at[: free.used].tolist(), inf]
    choices: list[list[float]] = []
    for k in range(free.used):
        length = max(min(begins[k + 1], by) - begins[k], 0.0)
        fitting = [lvl for lvl in range(cap + 1) if terms.sizes[lvl] <= free.slots[k]]
        choices.append([0.0, *(length * float(job.rate[level]) for level in fitting)])
    return max(sum(combination) for combination in product(*choices))


@settings(max_examples=100)
@given(free=profiles(), curve=whole_curves, todo=st.integers(1, 150), deadline=st.integers(1, 60))
def test_a_share_is_found_exactly_if_some_combination_of_levels_suffices_and_it_is_the_smallest(
    free: Free, curve: dict[int, float], todo: int, deadline: int
) -> None:
    terms = some_terms(SIZES)
    job = a_runner(terms, curve, float(todo))
    out = room()

    count, finish = smallest_share(0.0, float(deadline), job, terms, free, out)

    by = deadline - TOLERANCE
    enough = [cap for cap in range(len(SIZES)) if most_work(free, job, terms, by, cap) >= todo]
    assert (finish < inf) == bool(enough)
    if enough:
        assert finish <= by
        assert max(out.size[:count].tolist()) == SIZES[enough[0]]
        assert all(size <= least for size, least in zip_with_free(written_in(out, count), finish, free))


def zip_with_free(plan: Plan, finish: float, free: Free) -> list[tuple[int, int]]:
    """For each quarter of a second what a plan takes and what is free."""
    begins = free.at[: free.used]
    quarters = np.arange(plan[0][0], finish, 0.25)
    return [
        (size_at(plan, t), int(free.slots[np.searchsorted(begins, t, side="right") - 1]))
        for t in quarters.tolist()
    ]


def size_at(plan: Plan, time: float) -> int:
    return [size for at, size in plan if at <= time][-1]


def done_step_by_step(plan: Plan, job: Runner, terms: Terms, now: float) -> float:
    """When a plan is done, worked off in quarters of a second."""
    held = 0 if job.held < 0 else int(terms.sizes[job.held])
    sizes = terms.sizes.tolist()
    todo, stalled = job.todo, max(job.ready - now, 0.0)
    time = now
    while todo > 0.0:
        size = size_at(plan, time)
        if size != held:
            if size:
                level = sizes.index(size)
                stalled = float(terms.rescale[level] if held else terms.start[level])
            held = size
        if stalled > 0.0:
            stalled -= 0.25
        elif held:
            todo -= 0.25 * float(job.rate[sizes.index(held)])
        time += 0.25
    return time


binary_curves = st.dictionaries(st.sampled_from(SIZES), st.sampled_from([1.0, 2.0, 4.0]), min_size=1)


@settings(max_examples=100)
@given(
    free=profiles(),
    curve=binary_curves,
    todo=st.integers(1, 150),
    seconds=st.integers(0, 9),
    stall=st.integers(0, 5),
    runs=st.booleans(),
    now=st.integers(0, 20),
)
def test_the_finish_of_a_plan_is_that_of_working_it_off_step_by_step(
    free: Free, curve: dict[int, float], todo: int, seconds: int, stall: int, runs: bool, now: int
) -> None:
    terms = some_terms(SIZES, lambda size: float(seconds + size))
    held = min(curve) if runs else 0
    job = a_runner(terms, curve, float(todo), held=held, ready=float(now + stall) if runs else -inf)
    for cap in range(len(SIZES)):
        out = room()

        count, finish = fill(float(now), inf, job, cap, terms, free, out)

        if SIZES[cap] < min(curve):
            assert finish == inf
            continue
        plan = written_in(out, count)
        assert finish == done_step_by_step(plan, job, terms, float(now))
        assert follow(float(now), job, terms, *columns(plan)) == finish
        assert all(size <= SIZES[cap] for _, size in plan)
        assert all(size <= least for size, least in zip_with_free(plan, finish, free))


@pytest.mark.parametrize("deadline", [20.0, 40.0, 80.0])
def test_more_cost_never_makes_a_share_smaller(deadline: float) -> None:
    least = 0
    for seconds in range(0, 12, 2):
        terms = some_terms([1, 2, 4], partial(always, float(seconds)))
        out = room()
        count, _ = smallest_share(
            0.0, deadline, a_runner(terms, LINEAR, 60.0), terms, free_capacity((0.0, 8)), out
        )
        share = max(out.size[:count].tolist(), default=8)
        assert share >= least
        least = share
