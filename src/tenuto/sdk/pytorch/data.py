"""Samples for a worker: their order and their randomness depend on nothing but the seed, the epoch and the position."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils.data import default_collate

from tenuto.sdk.course import Batch, Course
from tenuto.sdk.shares import pieces, share


@dataclass(frozen=True, slots=True)
class Piece:
    """What a worker computes at once."""

    batch_of_user: Any
    """As the dataset's samples were collated."""
    samples: int
    """Of the batch. 0 for a worker without a share: its one sample stands in and counts nothing."""
    last: bool
    """Whether the worker's share of the batch ends with it."""
    batch: Batch


class Loader:
    """The pieces of one worker, step after step."""

    def __init__(
        self,
        dataset: Sequence[Any],
        course: Course,
        *,
        seed: int,
        workers: int = 0,
        collate: Callable[[list[Any]], Any] | None = None,
        shuffle: bool = True,
    ) -> None:
        self._dataset = dataset
        self._course = course
        self._seed = seed
        self._collate = collate or default_collate
        self._shuffle = shuffle
        self._step, self._world, self._rank, self._most = 0, 1, 0, None
        self._waiting: list[tuple[int, int]] = []
        self._order: tuple[int, list[int]] | None = None

    def seek(self, step: int, world: int, rank: int, most: int | None = None) -> None:
        """Go on with the first piece of this step, as this rank of so many."""
        self._step, self._world, self._rank, self._most = step, world, rank, most
        self._waiting = []

    def next(self) -> Piece:
        """The next piece; StopIteration after the last step."""
        if self._step >= self._course.steps:
            raise StopIteration
        batch = self._course.at(self._step)
        if not self._waiting:
            first, last = share(batch.size, self._world, self._rank)
            self._waiting = list(pieces(batch.start + first, batch.start + last, self._most))
        start, stop = self._waiting.pop(0)
        indices = self._indices(batch.epoch)[start : max(stop, start + 1)] or self._indices(batch.epoch)[-1:]
        self._step += not self._waiting
        drawn = self._collate([self._dataset[index] for index in indices])
        return Piece(drawn, stop - start, not self._waiting, batch)

    def _indices(self, epoch: int) -> list[int]:
        if self._order is None or self._order[0] != epoch:
            generator = torch.Generator().manual_seed(self._seed * 1_000_003 + epoch)
            count = self._course.samples
            order = torch.randperm(count, generator=generator).tolist() if self._shuffle else list(range(count))
            self._order = (epoch, order)
        return self._order[1]
