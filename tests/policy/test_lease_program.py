"""The lease plan as an integer program, against trying every plan there is."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tenuto.model.columns import Flags, Ints
from tenuto.policy.chronus.greedy import latest_leases
from tenuto.policy.chronus.program import best_leases

pytest.importorskip("highspy", reason="the lease program is solved by HiGHS, which is in the lab extra")

Ask = tuple[int, int, int]
"""Slots, leases needed, leases before the deadline."""

asks = st.lists(
    st.tuples(st.sampled_from([1, 2, 3, 4]), st.integers(0, 3), st.integers(0, 4)), min_size=0, max_size=4
)
capacities = st.lists(st.integers(0, 8), min_size=1, max_size=4)


def columns(jobs: Sequence[Ask]) -> tuple[Ints, Ints, Ints]:
    size, need, available = np.array(jobs, dtype=np.int64).reshape(-1, 3).T
    return size, need, available


def all_first_leases(jobs: Sequence[Ask], capacity: Sequence[int]) -> set[int]:
    """How many slots of the first lease some possible plan uses, for every possible plan."""
    ways = [
        combinations(range(min(available, len(capacity))), need) if need <= available else iter(())
        for _, need, available in jobs
    ]
    used_first = set()
    for plan in product(*ways):
        used = [
            sum(size for (size, _, _), own in zip(jobs, plan, strict=True) if lease in own)
            for lease in range(len(capacity))
        ]
        if all(slots <= room for slots, room in zip(used, capacity, strict=True)):
            used_first.add(used[0])
    return used_first


def assert_serves_everybody(jobs: Sequence[Ask], capacity: Sequence[int], chosen: Flags) -> None:
    assert chosen.shape == (len(jobs), len(capacity))
    for (_, need, available), own in zip(jobs, chosen, strict=True):
        assert np.count_nonzero(own) == need
        assert not own[available:].any()
    sizes = np.array([size for size, _, _ in jobs], dtype=np.int64)
    assert (sizes @ chosen <= capacity).all()


@settings(max_examples=120)
@given(jobs=asks, capacity=capacities, eager=st.booleans())
def test_a_plan_is_found_if_there_is_one_and_no_other_plan_is_better(
    jobs: list[Ask], capacity: list[int], eager: bool
) -> None:
    possible = all_first_leases(jobs, capacity)

    chosen = best_leases(*columns(jobs), np.array(capacity), eager)

    assert (chosen is not None) == bool(possible)
    if chosen is not None:
        assert_serves_everybody(jobs, capacity, chosen)
        used = sum(size for (size, _, _), own in zip(jobs, chosen, strict=True) if own[0])
        assert used == (max(possible) if eager else min(possible))


@settings(max_examples=200)
@given(jobs=asks, capacity=capacities)
def test_what_the_greedy_packing_finds_is_a_plan(jobs: list[Ask], capacity: list[int]) -> None:
    chosen = latest_leases(*columns(jobs), np.array(capacity))

    if chosen is not None:
        assert_serves_everybody(jobs, capacity, chosen)


def test_the_greedy_packing_takes_the_latest_leases() -> None:
    chosen = latest_leases(*columns([(4, 1, 3), (4, 2, 4), (2, 1, 2)]), np.array([4, 4, 4, 4]))

    assert chosen is not None
    assert chosen.astype(int).tolist() == [[0, 1, 0, 0], [0, 0, 1, 1], [1, 0, 0, 0]]


def test_the_program_finds_a_plan_where_the_greedy_packing_gives_up() -> None:
    jobs = [(2, 1, 2), (1, 2, 2), (2, 2, 3)]
    capacity = np.array([4, 4, 4])

    assert latest_leases(*columns(jobs), capacity) is None
    assert best_leases(*columns(jobs), capacity, True) is not None


def test_many_equal_jobs_are_served_in_turn() -> None:
    jobs = [(1, 2, 4)] * 10

    chosen = best_leases(*columns(jobs), np.array([2, 6, 6, 6]), True)

    assert chosen is not None
    assert_serves_everybody(jobs, [2, 6, 6, 6], chosen)
    assert np.count_nonzero(chosen[:, 0]) == 2


def test_the_same_program_has_the_same_answer() -> None:
    jobs = [(1 + i % 4, 1 + i % 5, 5 + i % 11) for i in range(60)]
    capacity = np.full(16, 40)

    first, second = (best_leases(*columns(jobs), capacity, True) for _ in range(2))

    assert first is not None
    assert second is not None
    assert np.array_equal(first, second)
