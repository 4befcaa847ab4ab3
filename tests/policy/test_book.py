"""Reservations from round to round."""

from __future__ import annotations

import numpy as np
from tests.builders import a_job
from tests.policy.planning import a_book, in_book, planned

from tenuto.policy.book import carry, left_free, owed_now

TWICE_AS_FAST = {2: 2.0, 4: 4.0}


def ten(_: int) -> float:
    return 10.0


def numbers(*jobs: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.array(jobs, dtype=np.int64)


def test_what_lies_behind_is_cut_off() -> None:
    jobs, terms = planned([a_job(left=100.0, on=[0, 1], curve=TWICE_AS_FAST)], now=30.0)
    old = a_book(1, {0: ([(0.0, 4), (10.0, 0), (20.0, 2)], 80.0)})

    book, behind = carry(30.0, jobs, terms, numbers(0), old)

    assert in_book(book, 0) == ([(20.0, 2)], 80.0)
    assert behind.tolist() == []


def test_what_a_job_no_longer_needs_is_given_back() -> None:
    jobs, terms = planned([a_job(left=20.0, on=[0, 1], curve=TWICE_AS_FAST)])
    old = a_book(1, {0: ([(0.0, 2), (30.0, 0), (60.0, 4)], 80.0)})

    book, _ = carry(0.0, jobs, terms, numbers(0), old)

    assert in_book(book, 0) == ([(0.0, 2)], 10.0)


def test_room_for_one_move_is_kept_if_it_was_reserved() -> None:
    jobs, terms = planned([a_job(left=20.0, on=[0, 1], curve=TWICE_AS_FAST)], ten)
    old = a_book(1, {0: ([(0.0, 2)], 80.0)})

    book, _ = carry(0.0, jobs, terms, numbers(0), old)

    assert in_book(book, 0) == ([(0.0, 2)], 20.0)


def test_room_for_one_move_ends_where_fewer_slots_were_reserved() -> None:
    """It will be done at 35 on four slots, but from 40 on only two of them are its own."""
    jobs, terms = planned([a_job(left=140.0, on=[0, 1, 2, 3], curve=TWICE_AS_FAST)], ten)
    old = a_book(1, {0: ([(0.0, 4), (40.0, 2)], 80.0)})

    book, _ = carry(0.0, jobs, terms, numbers(0), old)

    assert in_book(book, 0) == ([(0.0, 4)], 40.0)


def test_the_reservations_of_jobs_that_are_gone_are_dropped() -> None:
    jobs, terms = planned([a_job(), a_job(left=80.0, on=[0, 1], curve=TWICE_AS_FAST), a_job()])
    old = a_book(3, {0: ([(0.0, 1)], 90.0), 1: ([(0.0, 2)], 40.0), 2: ([(0.0, 1)], 90.0)})
    moved = jobs._replace(number=numbers(3, 5, 9))

    book, behind = carry(0.0, moved, terms, numbers(2, 5, 7), old)

    assert book.parts.tolist() == [0, 1, 0]
    assert in_book(book, 1) == ([(0.0, 2)], 40.0)
    assert behind.tolist() == []


def test_who_will_not_be_done_by_the_end_of_its_reservation_has_fallen_behind() -> None:
    jobs, terms = planned([a_job(left=100.0, on=[0, 1], curve=TWICE_AS_FAST)])
    old = a_book(1, {0: ([(0.0, 2)], 49.0)})

    book, behind = carry(0.0, jobs, terms, numbers(0), old)

    assert behind.tolist() == [0]
    assert in_book(book, 0) == ([(0.0, 2)], 49.0)


def test_whose_reservation_is_over_has_fallen_behind_however_little_is_left_to_do() -> None:
    """Its slots are nobody's in the book, so it must not go on with them as if they were its own."""
    jobs, terms = planned([a_job(left=1e-6, on=[0, 1], curve=TWICE_AS_FAST)], now=80.0)
    old = a_book(1, {0: ([(0.0, 2)], 80.0)})

    _, behind = carry(80.0, jobs, terms, numbers(0), old)

    assert behind.tolist() == [0]


def test_a_job_that_still_pays_for_growing_is_judged_by_its_worst_way_back() -> None:
    """On four slots it has earned nothing before 8; called back then it pays once more and works 50 s."""
    jobs, terms = planned([a_job(left=100.0, on=[0, 1, 2, 3], ready_at=8.0, curve=TWICE_AS_FAST)], ten)

    _, behind = carry(0.0, jobs, terms, numbers(0), a_book(1, {0: ([(0.0, 2)], 67.0)}))
    assert behind.tolist() == [0]

    _, behind = carry(0.0, jobs, terms, numbers(0), a_book(1, {0: ([(0.0, 2)], 69.0)}))
    assert behind.tolist() == []


def test_being_called_back_just_before_it_is_owed_what_it_has_is_the_worst() -> None:
    """It pays for four slots until 8; if they are taken away just before 5, it pays from 5 on once more."""
    jobs, terms = planned([a_job(left=100.0, on=[0, 1, 2, 3], ready_at=8.0, curve=TWICE_AS_FAST)], ten)

    _, behind = carry(0.0, jobs, terms, numbers(0), a_book(1, {0: ([(0.0, 2), (5.0, 4)], 39.0)}))
    assert behind.tolist() == [0]

    _, behind = carry(0.0, jobs, terms, numbers(0), a_book(1, {0: ([(0.0, 2), (5.0, 4)], 40.0)}))
    assert behind.tolist() == []


def test_the_present_segment_is_what_a_job_is_owed() -> None:
    book = a_book(2, {1: ([(0.0, 2), (30.0, 4)], 80.0)})

    assert owed_now(book, 0) == 0
    assert owed_now(book, 1) == 2


def test_reservations_leave_the_rest_free() -> None:
    book = a_book(2, {0: ([(0.0, 2), (10.0, 4)], 20.0), 1: ([(5.0, 1), (10.0, 0), (15.0, 3)], 30.0)})

    free = left_free(5.0, 8, book)

    assert list(zip(free.at[: free.used].tolist(), free.slots[: free.used].tolist(), strict=True)) == [
        (5.0, 5),
        (10.0, 4),
        (15.0, 1),
        (20.0, 5),
        (30.0, 8),
    ]


def test_without_reservations_everything_is_free_for_ever() -> None:
    free = left_free(7.0, 8, a_book(2, {}))

    assert (free.used, free.at[0], free.slots[0]) == (1, 7.0, 8)
