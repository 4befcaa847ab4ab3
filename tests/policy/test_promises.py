"""Several jobs together: a plan that is said to fit does fit, and what is impossible is never promised."""

from __future__ import annotations

from itertools import product
from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.builders import AJob, Seconds, a_job, free_of_charge
from tests.policy.planning import a_book, in_book, planned

from tenuto.policy.book import Book, left_free, runner, segments_of
from tenuto.policy.promises import GREEDY, THRIFTY, admit, mend, plan_together, possible_alone
from tenuto.policy.share import TOLERANCE, follow

SIZES = (1, 2, 3, 4, 6)


def three(_: int) -> float:
    return 3.0


def by_deadline(jobs: list[AJob]) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.argsort([job.deadline for job in jobs], kind="stable")


def together(
    jobs: list[AJob], capacity: int, style: int, cost: Seconds = free_of_charge
) -> tuple[bool, Book]:
    columns, terms = planned(jobs, cost)
    everybody = np.ones(len(jobs), dtype=np.bool_)
    fits, book, _ = plan_together(0.0, capacity, columns, terms, by_deadline(jobs), everybody, style)
    return fits, book


@st.composite
def up_to_three_jobs(draw: st.DrawFn) -> list[AJob]:
    """Whole numbers, so that nobody is within the planner's tolerance of its deadline by accident."""
    curves = st.dictionaries(st.sampled_from(SIZES), st.integers(1, 8).map(float), min_size=1)
    deadlines, work = st.integers(5, 40).map(float), st.integers(1, 120).map(float)
    jobs = st.builds(lambda c, d, w: a_job(curve=c, deadline=d, left=w), curves, deadlines, work)
    return draw(st.lists(jobs, min_size=1, max_size=3))


def proven_impossible(jobs: list[AJob], capacity: int) -> bool:
    """Whether some way of valuing the jobs' steps shows that no schedule whatsoever can do them all in time.

    Between two deadlines no schedule earns more than the best combination of sizes does all the time. If
    even that is worth less than all the work, the work cannot be done. Every combination and a grid of
    values are tried.
    """
    ends = sorted({job.deadline for job in jobs})
    combinations = [sizes for sizes in product(*([0, *job.curve] for job in jobs)) if sum(sizes) <= capacity]
    speeds = np.array(
        [[job.curve.get(n, 0.0) for n, job in zip(sizes, jobs, strict=True)] for sizes in combinations]
    )
    values = np.array([value for value in product(range(5), repeat=len(jobs)) if any(value)], dtype=float)
    values /= [max(job.curve.values()) for job in jobs]
    worth = np.zeros(len(values))
    for begin, end in zip([0.0, *ends], ends, strict=False):
        open_still = np.array([job.deadline >= end for job in jobs])
        worth += (end - begin) * ((values * open_still) @ speeds.T).max(axis=1)
    needed = values @ np.array([job.left for job in jobs])
    return bool((worth < needed).any())


@pytest.mark.parametrize("style", [THRIFTY, GREEDY])
@settings(max_examples=100)
@given(jobs=up_to_three_jobs(), capacity=st.integers(1, 6))
def test_what_no_schedule_can_do_is_never_planned(style: int, jobs: list[AJob], capacity: int) -> None:
    fits, _ = together(jobs, capacity, style)

    assert not (fits and proven_impossible(jobs, capacity))


@pytest.mark.parametrize("style", [THRIFTY, GREEDY])
@settings(max_examples=100)
@given(jobs=up_to_three_jobs(), capacity=st.integers(1, 6), cost=st.sampled_from([free_of_charge, three]))
def test_a_plan_for_all_fits_at_every_moment_and_everybody_is_in_time(
    style: int, jobs: list[AJob], capacity: int, cost: Seconds
) -> None:
    fits, book = together(jobs, capacity, style, cost)

    if fits:
        assert_fits(book, len(jobs), capacity)
        columns, terms = planned(jobs, cost)
        for row, job in enumerate(jobs):
            plan = segments_of(book, row)
            assert follow(0.0, runner(columns, row), terms, plan.at, plan.size) <= job.deadline - TOLERANCE
            assert book.end[row] <= job.deadline - TOLERANCE
            assert set(plan.size.tolist()) <= {0, *job.curve}


def assert_fits(book: Book, rows: int, capacity: int) -> None:
    """Recount a book at every moment at which something begins."""
    stretches = []
    for row in range(rows):
        plan, end = in_book(book, row)
        ends = [at for at, _ in plan[1:]] + [end]
        stretches += [(begin, until, size) for (begin, size), until in zip(plan, ends, strict=True)]
    for moment, _, _ in stretches:
        assert sum(size for begin, until, size in stretches if begin <= moment < until) <= capacity


@settings(max_examples=100)
@given(
    work=st.lists(st.tuples(st.integers(1, 100), st.integers(5, 40)), min_size=1, max_size=3),
    capacity=st.integers(1, 6),
)
def test_earliest_deadline_first_is_exact_where_everybody_can_use_everything(
    work: list[tuple[int, int]], capacity: int
) -> None:
    """Then the cluster is one fast machine, and the work due by each deadline decides."""
    curve = {size: float(size) for size in range(1, capacity + 1)}
    jobs = [a_job(curve=curve, left=float(left), deadline=float(deadline)) for left, deadline in work]

    fits, _ = together(jobs, capacity, GREEDY)

    due = [sum(left for left, other in work if other <= deadline) for _, deadline in work]
    assert fits == all(
        todo <= capacity * (deadline - TOLERANCE) for todo, (_, deadline) in zip(due, work, strict=True)
    )


def test_a_newcomer_that_fits_beside_the_promises_leaves_them_alone() -> None:
    old, new = a_job(left=200.0, deadline=100.0, curve={4: 4.0}), a_job(left=100.0, deadline=60.0)
    jobs, terms = planned([old, new])
    book = a_book(2, {0: ([(0.0, 4)], 50.0)})

    book, _, earliest = admit(
        0.0, 8, jobs, terms, np.array([1, 0]), np.array([1]), book, left_free(0.0, 8, book)
    )

    assert earliest.tolist() == [-inf]
    assert in_book(book, 0) == ([(0.0, 4)], 50.0)
    assert in_book(book, 1) == ([(0.0, 2)], 50.0)


def test_promises_are_planned_anew_if_that_makes_room_for_a_newcomer() -> None:
    """The old job has all slots first and time to spare; the newcomer has none."""
    old = a_job(left=80.0, deadline=100.0, curve={8: 8.0})
    new = a_job(left=80.0, deadline=11.0, curve={8: 8.0})
    jobs, terms = planned([old, new])
    book = a_book(2, {0: ([(0.0, 8)], 10.0)})

    book, _, earliest = admit(
        0.0, 8, jobs, terms, np.array([1, 0]), np.array([1]), book, left_free(0.0, 8, book)
    )

    assert earliest.tolist() == [-inf]
    assert in_book(book, 1) == ([(0.0, 8)], 10.0)
    assert in_book(book, 0) == ([(0.0, 0), (10.0, 8)], 20.0)


def test_a_refused_newcomer_hears_when_it_could_be_done_and_the_promises_stay() -> None:
    old = a_job(left=80.0, deadline=15.0, curve={8: 8.0})
    new = a_job(left=80.0, deadline=15.0, curve={8: 8.0})
    jobs, terms = planned([old, new])
    book = a_book(2, {0: ([(0.0, 8)], 10.0)})

    book, _, earliest = admit(
        0.0, 8, jobs, terms, np.array([0, 1]), np.array([1]), book, left_free(0.0, 8, book)
    )

    assert earliest.tolist() == [20.0]
    assert in_book(book, 0) == ([(0.0, 8)], 10.0)
    assert book.parts.tolist() == [1, 0]


def test_what_is_impossible_alone_is_not_possible_at_all() -> None:
    jobs, terms = planned([a_job(left=80.0, deadline=11.0), a_job(left=80.0, deadline=9.0)])

    assert possible_alone(0.0, 8, jobs, terms, 0)
    assert not possible_alone(0.0, 4, jobs, terms, 0)
    assert not possible_alone(0.0, 8, jobs, terms, 1)


def test_who_fell_behind_gets_a_plan_that_saves_it() -> None:
    jobs, terms = planned([a_job(left=100.0, deadline=60.0)])
    book = a_book(1, {0: ([(0.0, 1)], 60.0)})

    book, _ = mend(0.0, 8, jobs, terms, np.array([0]), np.array([0]), book, left_free(0.0, 8, book), THRIFTY)

    assert in_book(book, 0) == ([(0.0, 2)], 50.0)


def test_who_fell_behind_gets_the_room_of_one_that_can_wait() -> None:
    """The lost one spoils every common plan, and the strict one has no second to give."""
    curve = {8: 8.0}
    lost, strict = a_job(left=80.0, deadline=1.0, curve=curve), a_job(left=80.0, deadline=20.5, curve=curve)
    behind, patient = (
        a_job(left=88.0, deadline=32.0, curve=curve),
        a_job(left=80.0, deadline=90.0, curve=curve),
    )
    jobs, terms = planned([lost, strict, behind, patient])
    book = a_book(
        4,
        {0: ([(30.0, 8)], 40.0), 1: ([(10.0, 8)], 20.0), 2: ([(0.0, 8)], 10.0), 3: ([(20.0, 8)], 30.0)},
    )

    book, free = mend(
        0.0, 8, jobs, terms, np.arange(4), np.array([2]), book, left_free(0.0, 8, book), THRIFTY
    )

    assert [in_book(book, row)[1] for row in range(4)] == [40.0, 20.0, 21.0, 41.0]
    assert free.slots[: free.used].min() == 0


def test_who_cannot_be_saved_is_as_little_late_as_the_other_promises_allow() -> None:
    safe, late = a_job(left=200.0, deadline=60.0, curve={4: 4.0}), a_job(left=400.0, deadline=60.0)
    jobs, terms = planned([safe, late])
    book = a_book(2, {0: ([(0.0, 4)], 50.0), 1: ([(0.0, 1)], 60.0)})

    book, _ = mend(
        0.0, 8, jobs, terms, np.array([0, 1]), np.array([1]), book, left_free(0.0, 8, book), THRIFTY
    )

    assert in_book(book, 0) == ([(0.0, 4)], 50.0)
    assert in_book(book, 1) == ([(0.0, 4), (50.0, 8)], 75.0)


def test_a_refused_newcomer_does_not_stand_in_the_way_of_the_next_one() -> None:
    """The old job can wait for the last one, but not for the one that is refused."""
    curve = {8: 8.0}
    old, refused = a_job(left=80.0, deadline=15.0, curve=curve), a_job(left=80.0, deadline=16.0, curve=curve)
    welcome = a_job(left=32.0, deadline=4.5, curve=curve)
    jobs, terms = planned([old, refused, welcome])
    book = a_book(3, {0: ([(0.0, 8)], 10.0)})

    book, _, earliest = admit(
        0.0, 8, jobs, terms, np.array([2, 0, 1]), np.array([1, 2]), book, left_free(0.0, 8, book)
    )

    assert earliest.tolist() == [20.0, -inf]
    assert in_book(book, 2) == ([(0.0, 8)], 4.0)
    assert in_book(book, 0) == ([(0.0, 0), (4.0, 8)], 14.0)
