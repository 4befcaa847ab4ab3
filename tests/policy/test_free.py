"""The profile of free capacity."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tenuto.policy.free import Free, all_free, free_until, least_free, take, take_segments


def as_pairs(free: Free) -> list[tuple[float, int]]:
    """The profile without cuts at which nothing changes."""
    pairs: list[tuple[float, int]] = []
    for at, slots in zip(free.at[: free.used].tolist(), free.slots[: free.used].tolist(), strict=True):
        if not pairs or pairs[-1][1] != slots:
            pairs.append((at, slots))
    return pairs


def test_what_is_taken_is_missing_for_that_time_only() -> None:
    free = take(all_free(0.0, 8, 4), 10.0, 30.0, 3)

    assert as_pairs(free) == [(0.0, 8), (10.0, 5), (30.0, 8)]


def test_what_is_taken_for_ever_never_comes_back() -> None:
    free = take(all_free(0.0, 8, 4), 10.0, np.inf, 3)

    assert as_pairs(free) == [(0.0, 8), (10.0, 5)]


def test_the_past_cannot_be_taken() -> None:
    free = take(all_free(100.0, 8, 4), 10.0, 130.0, 3)

    assert as_pairs(free) == [(100.0, 5), (130.0, 8)]
    assert as_pairs(take(free, 10.0, 100.0, 8)) == as_pairs(free)


def test_a_plan_is_taken_segment_by_segment() -> None:
    at, size = np.array([0.0, 10.0, 20.0]), np.array([2, 0, 4])

    free = take_segments(all_free(0.0, 8, 0), at, size, 25.0, 1)

    assert as_pairs(free) == [(0.0, 6), (10.0, 8), (20.0, 4), (25.0, 8)]


def test_the_least_free_slots_are_found_between_two_moments() -> None:
    free = take(all_free(0.0, 8, 4), 10.0, 30.0, 3)

    assert least_free(free, 0.0, 10.0) == 8
    assert least_free(free, 0.0, 10.5) == 5
    assert least_free(free, 15.0, 99.0) == 5
    assert least_free(free, 30.0, 99.0) == 8


def test_slots_stay_free_until_somebody_has_taken_them() -> None:
    free = take(all_free(0.0, 8, 4), 10.0, 30.0, 3)

    assert free_until(free, 0, 8) == 10.0
    assert free_until(free, 0, 5) == np.inf


moments = st.integers(0, 20).map(float)
bookings = st.lists(st.tuples(moments, moments | st.just(np.inf), st.integers(0, 4)), min_size=1, max_size=12)


@settings(max_examples=100)
@given(bookings=bookings)
def test_taking_agrees_with_counting_second_by_second(bookings: list[tuple[float, float, int]]) -> None:
    free = all_free(0.0, 48, 0)
    for begin, end, slots in bookings:
        free = take(free, begin, end, slots)

    for second in range(25):
        expected = 48 - sum(slots for begin, end, slots in bookings if begin <= second < end)
        assert least_free(free, float(second), second + 1.0) == expected


@settings(max_examples=100)
@given(bookings=bookings)
def test_giving_everything_back_leaves_an_empty_cluster(bookings: list[tuple[float, float, int]]) -> None:
    free = all_free(0.0, 48, 0)
    for begin, end, slots in bookings:
        free = take(free, begin, end, slots)
    for begin, end, slots in reversed(bookings):
        free = take(free, begin, end, -slots)

    assert as_pairs(free) == [(0.0, 48)]
