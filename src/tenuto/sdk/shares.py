"""Who takes which part of a batch. Pure."""

from __future__ import annotations

from itertools import pairwise


def share(size: int, world: int, rank: int) -> tuple[int, int]:
    """The part of one worker, from and to, within a batch of `size`: as even as it goes, larger ones first.

    Where workers are more than samples, the last ones get nothing.
    """
    if not 0 <= rank < world:
        raise ValueError(f"there is no rank {rank} among {world}")
    each, over = divmod(size, world)
    start = rank * each + min(rank, over)
    return start, start + each + (rank < over)


def pieces(start: int, stop: int, most: int | None) -> tuple[tuple[int, int], ...]:
    """A share in parts of at most so many samples, as even as it goes: gradients are accumulated over them.

    An empty share is one empty piece, because its worker meets the others too.
    """
    if most is not None and most < 1:
        raise ValueError(f"a piece of at most {most} samples holds none")
    size = stop - start
    count = 1 if most is None else max(1, -(-size // most))
    cuts = [start + share(size, count, number)[0] for number in range(count)] + [stop]
    return tuple(pairwise(cuts))
