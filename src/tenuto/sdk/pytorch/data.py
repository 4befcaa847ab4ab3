"""Samples for a worker: order and randomness depend on the seed, the epoch and the position, on nothing else.

So it does not matter how many workers there are, or how often that changes on the way.
"""

from __future__ import annotations

import os
import signal
import threading
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset, Subset, TensorDataset, default_collate

from tenuto.sdk.course import Batch, Course
from tenuto.sdk.pytorch.order import Order
from tenuto.sdk.pytorch.seeds import Chance, mixed, seed_all
from tenuto.sdk.shares import pieces, share

_PLAIN = (TensorDataset, torch.Tensor, list, tuple, range)
"""Datasets that draw no random numbers."""


Key = tuple[int, int]
"""An epoch, and the number of a sample in the dataset."""


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


@dataclass(frozen=True, slots=True)
class Request:
    """A piece before its samples are there."""

    batch: Batch
    start: int
    stop: int
    last: bool

    @property
    def positions(self) -> tuple[int, int]:
        """Which samples are drawn. Without a share it is the batch's first: its worker meets the others too."""
        return (self.start, self.stop) if self.stop > self.start else (self.batch.start, self.batch.start + 1)


@dataclass(frozen=True, slots=True)
class Seat:
    """One worker among so many, and the most samples that it holds at once."""

    world: int
    rank: int
    most: int | None = None


def requests(course: Course, step: int, seat: Seat) -> Iterator[Request]:
    """All that a worker has to compute from a step on, if nothing changes."""
    for number in range(step, course.steps):
        batch = course.at(number)
        first, last = share(batch.size, seat.world, seat.rank)
        cuts = pieces(batch.start + first, batch.start + last, seat.most)
        for start, stop in cuts:
            yield Request(batch, start, stop, last=(start, stop) == cuts[-1])


class Loader:
    """The pieces of one worker, step after step. Its processes, if it has any, stay through every change."""

    def __init__(
        self,
        dataset: Any,
        course: Course,
        *,
        seed: int,
        workers: int = 0,
        collate: Callable[[list[Any]], Any] | None = None,
        shuffle: bool = True,
    ) -> None:
        self._course = course
        self._order = Order(course.samples, seed if shuffle else None)
        self._asked: deque[Request] = deque()
        """Handed to the processes and not come back."""
        self._requests: Iterator[Request] = iter(())
        self._drawn: Iterator[Any] | None = None
        self._samples = _Samples(dataset, seed)
        self._draw = _drawer(self._samples, collate)
        self._processes = (
            DataLoader(
                self._samples,
                batch_sampler=_Asking(self._ask),
                num_workers=workers,
                collate_fn=collate or default_collate,
                persistent_workers=True,
                worker_init_fn=_stand_aside,
                generator=torch.Generator(),  # or it would draw from the program's own
            )
            if workers
            else None
        )
        self.seek(0, 1, 0)

    def seek(self, step: int, world: int, rank: int, most: int | None = None) -> None:
        """Go on with the first piece of this step, as this rank of so many. What was drawn ahead is dropped."""
        self._requests = requests(self._course, step, Seat(world, rank, most))
        self._asked.clear()
        self._drawn = None

    def next(self) -> Piece:
        """The next piece; StopIteration after the last step."""
        if self._processes is None:
            request = next(self._requests)
            drawn = self._draw(self._keys(request))
        else:
            if self._drawn is None:
                self._drawn = iter(self._processes)
            drawn = next(self._drawn)
            request = self._asked.popleft()
        return Piece(drawn, request.stop - request.start, request.last, request.batch)

    def close(self) -> None:
        """End the processes."""
        self._drawn = self._processes = None

    def _ask(self) -> Iterator[list[Key]]:
        for request in self._requests:
            self._asked.append(request)
            yield self._keys(request)

    def _keys(self, request: Request) -> list[Key]:
        epoch = request.batch.epoch
        return [(epoch, index) for index in self._order.indices(epoch, *request.positions)]


def _stand_aside(_number: int) -> None:
    """In a process of the loader: signals that are sent to all processes of a worker mean the one that trains.

    It has the step under way drawn to its end, and then ends the processes of its loader by itself.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    threading.Thread(target=_heed_the_parent, args=(os.getppid(),), daemon=True).start()


def _heed_the_parent(parent: int) -> None:
    while signal.sigwaitinfo({signal.SIGTERM}).si_pid != parent:
        continue
    os._exit(0)


class _Samples(Dataset[Any]):
    """A dataset in which a sample's randomness belongs to the sample."""

    def __init__(self, dataset: Any, seed: int) -> None:
        self.dataset = dataset
        self.seed = seed
        self.is_plain = _draws_nothing(dataset)

    def __getitem__(self, key: Key) -> Any:
        epoch, index = key
        if not self.is_plain:
            seed_all(mixed(self.seed, epoch, index))
        return self.dataset[index]


class _Asking:
    """Tells the processes what to draw next, for as long as nothing changes."""

    def __init__(self, ask: Callable[[], Iterator[list[Key]]]) -> None:
        self._ask = ask

    def __iter__(self) -> Iterator[list[Key]]:
        return self._ask()


def _drawer(samples: _Samples, collate: Callable[[list[Any]], Any] | None) -> Callable[[list[Key]], Any]:
    """How this process itself draws a piece, without touching the program's own randomness."""
    if collate is not None or not samples.is_plain:
        return _Drawing(samples, collate or default_collate)
    if type(samples.dataset) is not TensorDataset:
        return lambda keys: default_collate([samples[key] for key in keys])
    tensors = samples.dataset.tensors

    def draw_rows(keys: list[Key]) -> Any:
        """The same as collating sample by sample, in one go."""
        rows = torch.tensor([index for _, index in keys])
        return [tensor[rows] for tensor in tensors]

    return draw_rows


class _Drawing:
    """Samples of a dataset that may draw random numbers.

    To seed every source of chance for every sample takes longer than most samples themselves. So a piece is drawn
    without; only if that has drawn anything it is drawn again with seeds, and so is every piece from then on.
    """

    def __init__(self, samples: _Samples, collate: Callable[[list[Any]], Any]) -> None:
        self._samples = samples
        self._collate = collate
        self._is_random = False

    def __call__(self, keys: list[Key]) -> Any:
        chance = Chance()
        if not self._is_random:
            drawn = self._collate([self._samples.dataset[index] for _, index in keys])
            if not chance.has_changed():
                return drawn
            self._is_random = True
        try:
            return self._collate([self._samples[key] for key in keys])
        finally:
            chance.restore()


def _draws_nothing(dataset: Any) -> bool:
    while type(dataset) is Subset:
        dataset = dataset.dataset
    return type(dataset) in _PLAIN
