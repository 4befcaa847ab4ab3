"""Leaving a reservation for spare slots, and the way back."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from tests.builders import AJob, a_job
from tests.policy.planning import a_book, planned

from tenuto.model.plan import GLADLY, NEVER, RATHER_NOT
from tenuto.policy.book import Book, Jobs, left_free
from tenuto.policy.share import Terms
from tenuto.policy.spare import Moment, back_in_time, may_leave, next_wake, pays, reluctance_to_move, settle

TWO, FOUR = 0, 1
"""Levels of the curve below."""


def ten(_: int) -> float:
    return 10.0


def running_on_two(left: float = 100.0, deadline: float = 100.0) -> AJob:
    return a_job(left=left, deadline=deadline, curve={2: 2.0, 4: 4.0}, on=[0, 1])


def reserved(end: float, job: AJob | None = None) -> tuple[Jobs, Terms, Book]:
    """One job on two slots that it is owed until some moment."""
    jobs, terms = planned([running_on_two() if job is None else job], ten)
    return jobs, terms, a_book(1, {0: ([(0.0, 2)], end)})


def test_the_worst_way_back_pays_twice_and_earns_nothing_between() -> None:
    """To four slots until 10, back on two until 20, then 100 steps at 2 a second."""
    jobs, terms, book = reserved(end=60.0)

    assert back_in_time(0.0, jobs, terms, book, 0, FOUR) == 70.0


@pytest.mark.parametrize(
    ("end", "deadline", "capacity", "allowed"),
    [
        pytest.param(70.0, 100.0, 2, True, id="the reservation is long enough"),
        pytest.param(60.0, 100.0, 2, True, id="the slots are free afterwards"),
        pytest.param(60.0, 69.0, 2, False, id="it would be too late"),
    ],
)
def test_a_promised_job_may_leave_only_if_it_could_return(
    end: float, deadline: float, capacity: int, allowed: bool
) -> None:
    jobs, terms, book = reserved(end, running_on_two(deadline=deadline))
    free = left_free(0.0, capacity, book)

    assert may_leave(0.0, jobs, terms, book, free, 0, FOUR) == allowed


def test_a_promised_job_may_not_leave_if_others_follow_on_its_slots() -> None:
    jobs, terms = planned([running_on_two(), a_job(curve={2: 2.0, 4: 4.0})], ten)
    book = a_book(2, {0: ([(0.0, 2)], 60.0), 1: ([(0.0, 0), (60.0, 2)], 90.0)})

    assert not may_leave(0.0, jobs, terms, book, left_free(0.0, 2, book), 0, FOUR)
    assert may_leave(0.0, jobs, terms, book, left_free(0.0, 4, book), 0, FOUR)


def test_who_has_no_promise_may_always_leave() -> None:
    jobs, terms = planned([running_on_two()], ten)
    book = a_book(1, {})

    assert may_leave(0.0, jobs, terms, book, left_free(0.0, 2, book), 0, FOUR)


def test_settling_reserves_the_way_back() -> None:
    jobs, terms, book = reserved(end=60.0)
    level = np.array([FOUR])

    free = settle(0.0, jobs, terms, np.array([TWO]), level, book, left_free(0.0, 4, book))

    assert level.tolist() == [FOUR]
    assert book.end.tolist() == [70.0]
    assert free.slots[: free.used].tolist() == [2, 2, 4]


def test_who_finds_no_way_back_stays_with_what_it_is_owed() -> None:
    jobs, terms = planned([running_on_two(), a_job(curve={2: 2.0, 4: 4.0})], ten)
    book = a_book(2, {0: ([(0.0, 2)], 60.0), 1: ([(0.0, 0), (60.0, 4)], 90.0)})
    level = np.array([FOUR, -1])

    settle(0.0, jobs, terms, np.array([TWO, -1]), level, book, left_free(0.0, 4, book))

    assert level.tolist() == [TWO, -1]
    assert book.end.tolist() == [60.0, 90.0]


def test_the_second_who_wants_the_same_way_back_does_not_get_it() -> None:
    """Two slots are free between 60 and 70, for one of two jobs that would need them."""
    first, second = running_on_two(), a_job(left=100.0, deadline=100.0, curve={2: 2.0, 4: 4.0}, on=[2, 3])
    jobs, terms = planned([first, second, a_job(curve={2: 2.0, 4: 4.0})], ten)
    book = a_book(3, {0: ([(0.0, 2)], 60.0), 1: ([(0.0, 2)], 60.0), 2: ([(0.0, 0), (60.0, 4)], 90.0)})
    level = np.array([FOUR, FOUR, -1])

    settle(0.0, jobs, terms, np.array([TWO, TWO, -1]), level, book, left_free(0.0, 6, book))

    assert level.tolist() == [FOUR, TWO, -1]
    assert book.end.tolist() == [70.0, 60.0, 90.0]


@pytest.mark.parametrize(
    ("end", "deadline", "reluctance"),
    [
        pytest.param(60.0, 100.0, GLADLY, id="the reservation has room for it"),
        pytest.param(50.0, 55.0, NEVER, id="it would be too late"),
        pytest.param(50.0, 100.0, GLADLY, id="the slots are free afterwards"),
    ],
)
def test_who_can_afford_a_move_may_be_moved(end: float, deadline: float, reluctance: int) -> None:
    jobs, terms, book = reserved(end, running_on_two(deadline=deadline))

    got = reluctance_to_move(0.0, jobs, terms, np.array([TWO]), book, left_free(0.0, 2, book))

    assert got.tolist() == [reluctance]


def test_who_would_need_other_peoples_slots_after_a_move_had_rather_stay() -> None:
    jobs, terms = planned([running_on_two(), a_job(curve={2: 2.0, 4: 4.0})], ten)
    book = a_book(2, {0: ([(0.0, 2)], 50.0), 1: ([(0.0, 0), (50.0, 2)], 90.0)})

    got = reluctance_to_move(0.0, jobs, terms, np.array([TWO, -1]), book, left_free(0.0, 2, book))

    assert got.tolist() == [RATHER_NOT, GLADLY]


def test_growing_pays_if_it_saves_more_than_it_costs() -> None:
    """From two to four slots: 10 s of cost against a quarter of the steps saved."""
    jobs, terms = planned([running_on_two(left=84.0)], ten)
    assert pays(0.0, jobs, terms, 0, FOUR)

    jobs, terms = planned([running_on_two(left=76.0)], ten)
    assert not pays(0.0, jobs, terms, 0, FOUR)


def test_the_next_round_is_when_a_reservation_asks_for_more() -> None:
    jobs, terms = planned([running_on_two()], ten)
    book = a_book(1, {0: ([(0.0, 2), (30.0, 0), (40.0, 4)], 60.0)})

    assert next_wake(Moment(0.0, 60.0), jobs, terms, np.array([TWO]), 0, book) == 40.0
    assert next_wake(Moment(0.0, 60.0), jobs, terms, np.array([FOUR]), 0, book) == inf


def test_the_next_round_is_when_a_size_has_lasted_and_slots_are_idle() -> None:
    job = a_job(curve={2: 2.0, 4: 4.0}, on=[0, 1], changed_at=-20.0)
    jobs, terms = planned([job], ten)
    book = a_book(1, {})

    assert next_wake(Moment(0.0, 60.0), jobs, terms, np.array([TWO]), 2, book) == 40.0
    assert next_wake(Moment(0.0, 60.0), jobs, terms, np.array([TWO]), 1, book) == inf
