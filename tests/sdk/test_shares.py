"""A batch is divided among its workers without rest."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenuto.sdk.shares import pieces, share


def test_three_workers_divide_256_as_evenly_as_it_goes() -> None:
    assert [share(256, 3, rank) for rank in range(3)] == [(0, 86), (86, 171), (171, 256)]


def test_where_workers_are_more_than_samples_the_last_get_nothing() -> None:
    assert [share(2, 4, rank) for rank in range(4)] == [(0, 1), (1, 2), (2, 2), (2, 2)]


@given(size=st.integers(0, 3000), world=st.integers(1, 70))
def test_shares_are_the_whole_batch_and_differ_by_one_at_most(size: int, world: int) -> None:
    shares = [share(size, world, rank) for rank in range(world)]

    assert shares[0][0] == 0
    assert shares[-1][1] == size
    assert all(before[1] == after[0] for before, after in pairwise(shares))
    sizes = [stop - start for start, stop in shares]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] - sizes[-1] <= 1


@given(start=st.integers(0, 500), size=st.integers(0, 500), most=st.none() | st.integers(1, 600))
def test_pieces_are_the_whole_share_and_none_is_too_large(start: int, size: int, most: int | None) -> None:
    cuts = pieces(start, start + size, most)

    assert cuts[0][0] == start
    assert cuts[-1][1] == start + size
    assert all(before[1] == after[0] for before, after in pairwise(cuts))
    assert all(stop - first <= (most or size) for first, stop in cuts)
    assert len(cuts) == max(1, -(-size // (most or max(size, 1))))


@pytest.mark.parametrize(("world", "rank"), [(0, 0), (2, 2), (2, -1)])
def test_a_rank_that_is_not_there_gets_no_share(world: int, rank: int) -> None:
    with pytest.raises(ValueError, match="no rank"):
        share(8, world, rank)


def test_pieces_of_nothing_are_refused() -> None:
    with pytest.raises(ValueError, match="holds none"):
        pieces(0, 8, 0)
