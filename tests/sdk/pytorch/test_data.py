"""Every sample once and in order, whatever the sequence of worlds; its randomness belongs to it."""

from __future__ import annotations

import os
import random
import signal
import subprocess
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils.data import Dataset, Subset, TensorDataset

from tenuto.sdk.course import Course
from tenuto.sdk.pytorch.data import Loader, Piece, Seat, requests


class Noisy(Dataset[Any]):
    """Draws from every common source of chance, as data augmentation does."""

    def __init__(self, samples: int = 10) -> None:
        self.samples = samples

    def __len__(self) -> int:
        return self.samples

    def __getitem__(self, index: int) -> tuple[int, float, float, float]:
        return index, random.random(), float(np.random.random()), float(torch.rand(()))  # noqa: NPY002


def rest_of(loader: Loader) -> Iterator[Piece]:
    while True:
        try:
            yield loader.next()
        except StopIteration:
            return


def drawn(loader: Loader) -> list[int]:
    """The samples that count, in order."""
    return [index for piece in rest_of(loader) for index in piece.batch_of_user.tolist()[: piece.samples]]


@given(
    samples=st.integers(1, 60),
    global_batch=st.integers(1, 40),
    epochs=st.integers(1, 3),
    data=st.data(),
)
def test_any_sequence_of_worlds_has_every_position_once_and_in_order(
    samples: int, global_batch: int, epochs: int, data: st.DataObject
) -> None:
    course = Course.of_epochs(samples, global_batch, epochs)
    found: list[tuple[int, int]] = []
    step = 0
    while step < course.steps:
        world = data.draw(st.integers(1, 7))
        most = data.draw(st.none() | st.integers(1, 10))
        until = data.draw(st.integers(step + 1, course.steps))
        for number in range(step, until):
            for rank in range(world):
                for request in requests(course, number, Seat(world, rank, most)):
                    if request.batch.step > number:
                        break
                    found += [(request.batch.epoch, at) for at in range(request.start, request.stop)]
        step = until

    assert found == [(epoch, at) for epoch in range(epochs) for at in range(samples)]


@given(world=st.integers(1, 9), most=st.none() | st.integers(1, 5))
def test_every_worker_meets_the_others_in_every_step(world: int, most: int | None) -> None:
    course = Course.of_epochs(samples=10, global_batch=4, epochs=2)
    for rank in range(world):
        lasts = [
            request.batch.step for request in requests(course, 0, Seat(world, rank, most)) if request.last
        ]

        assert lasts == list(range(course.steps))


def test_a_worker_without_a_share_gets_a_stand_in_that_counts_nothing() -> None:
    loader = Loader(torch.arange(10), Course.of_epochs(10, 2, 1), seed=0)
    loader.seek(0, world=3, rank=2)

    piece = loader.next()

    assert (piece.samples, piece.last, len(piece.batch_of_user)) == (0, True, 1)


@settings(max_examples=20)
@given(seed=st.integers(-(2**63), 2**70), world=st.integers(1, 4), step=st.integers(0, 5))
def test_the_order_depends_on_the_seed_and_the_epoch_only(seed: int, world: int, step: int) -> None:
    course = Course.of_epochs(samples=10, global_batch=4, epochs=2)
    alone = Loader(torch.arange(10), course, seed=seed)
    alone.seek(step, 1, 0)
    expected = drawn(alone)

    shares = [Loader(torch.arange(10), course, seed=seed) for _ in range(world)]
    for rank, loader in enumerate(shares):
        loader.seek(step, world, rank)
    together = [
        index
        for pieces in zip(*[rest_of(loader) for loader in shares], strict=True)
        for piece in pieces
        for index in piece.batch_of_user.tolist()[: piece.samples]
    ]

    assert together == expected


def test_epochs_differ_and_so_do_seeds() -> None:
    course = Course.of_epochs(samples=100, global_batch=10, epochs=2)
    first, second = (
        drawn(Loader(torch.arange(100), course, seed=0)),
        drawn(Loader(torch.arange(100), course, seed=1)),
    )

    assert first != second
    assert first[:100] != first[100:]
    assert sorted(first[:100]) == sorted(first[100:]) == list(range(100))


def test_without_shuffling_the_order_is_that_of_the_dataset() -> None:
    loader = Loader(torch.arange(10), Course.of_epochs(10, 4, 2), seed=0, shuffle=False)

    assert drawn(loader) == [*range(10), *range(10)]


def test_after_the_last_step_there_is_no_piece_but_one_may_go_back() -> None:
    loader = Loader(torch.arange(10), Course.of_epochs(10, 4, 1), seed=0)
    whole = drawn(loader)
    with pytest.raises(StopIteration):
        loader.next()

    loader.seek(2, 1, 0)

    assert drawn(loader) == whole[8:]


def numbers(loader: Loader) -> dict[tuple[int, int], tuple[float, ...]]:
    """What was drawn for each sample in each epoch."""
    found = {}
    for piece in rest_of(loader):
        for index, *chance in zip(*[column.tolist() for column in piece.batch_of_user], strict=True):
            if piece.samples:
                found[piece.batch.epoch, index] = tuple(chance)
    return found


def test_the_randomness_of_a_sample_does_not_depend_on_who_draws_it() -> None:
    course = Course.of_epochs(samples=10, global_batch=4, epochs=2)
    alone = numbers(Loader(Noisy(), course, seed=3))

    together: dict[tuple[int, int], tuple[float, ...]] = {}
    for rank in range(3):
        random.seed(rank)
        torch.manual_seed(rank)
        loader = Loader(Noisy(), course, seed=3)
        loader.seek(0, 3, rank, most=1)
        together |= numbers(loader)

    assert together == alone
    assert len(set(alone.values())) == 20  # every sample and every epoch its own
    assert all(len(set(chances)) == 3 for chances in alone.values())


class Fickle(Noisy):
    """Draws for some samples only, and counts what it was asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = 0

    def __getitem__(self, index: int) -> tuple[int, float, float, float]:
        self.asked += 1
        return super().__getitem__(index) if index == 7 else (index, 0.0, 0.0, 0.0)


def test_a_sample_that_draws_when_none_has_before_is_no_exception() -> None:
    course = Course.of_epochs(samples=10, global_batch=1, epochs=2)

    found, always = numbers(Loader(Fickle(), course, seed=3)), numbers(Loader(Noisy(), course, seed=3))

    assert [found[epoch, 7] for epoch in (0, 1)] == [always[epoch, 7] for epoch in (0, 1)]


def test_samples_that_draw_nothing_are_asked_for_once() -> None:
    dataset = Fickle()
    numbers(Loader(dataset, Course.of_epochs(samples=7, global_batch=2, epochs=1), seed=3))

    assert dataset.asked == 7


def test_the_programs_own_randomness_is_left_alone() -> None:
    def next_numbers() -> tuple[float, float, float]:
        return random.random(), float(np.random.random()), float(torch.rand(()))  # noqa: NPY002

    for case in ({}, {"workers": 1}):
        random.seed(1)
        np.random.seed(1)  # noqa: NPY002
        torch.manual_seed(1)
        expected = next_numbers()
        random.seed(1)
        np.random.seed(1)  # noqa: NPY002
        torch.manual_seed(1)

        loader = Loader(Noisy(), Course.of_epochs(10, 4, 1), seed=3, **case)  # type: ignore[arg-type]
        loader.next()
        loader.seek(0, 2, 1)
        loader.next()
        loader.close()

        assert next_numbers() == expected


def test_processes_draw_the_same_as_the_program_itself() -> None:
    course = Course.of_epochs(samples=10, global_batch=4, epochs=2)
    loader = Loader(Noisy(), course, seed=3, workers=2)

    assert numbers(loader) == numbers(Loader(Noisy(), course, seed=3))
    loader.close()


class Signed(Dataset[Any]):
    """Tells which process drew a sample."""

    def __len__(self) -> int:
        return 64

    def __getitem__(self, index: int) -> tuple[int, int]:
        info = torch.utils.data.get_worker_info()
        assert info is not None
        return index, os.getpid()


def test_processes_survive_a_change_and_what_they_drew_ahead_is_dropped() -> None:
    course = Course.of_epochs(samples=64, global_batch=4, epochs=2)
    loader = Loader(Signed(), course, seed=0, workers=2, shuffle=False)
    pids, seen = set(), []

    def take(pieces: int) -> None:
        for _ in range(pieces):
            piece = loader.next()
            seen.append(piece.batch_of_user[0].tolist())
            pids.update(piece.batch_of_user[1].tolist())

    take(3)
    loader.seek(3, world=2, rank=1)
    take(2)
    loader.seek(5, world=4, rank=0, most=1)
    take(2)
    loader.seek(30, world=1, rank=0)
    take(2)
    with pytest.raises(StopIteration):
        loader.next()
    loader.seek(0, world=1, rank=0)
    take(1)
    loader.close()

    assert seen == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11], [14, 15], [18, 19], [20], [24],
                    [56, 57, 58, 59], [60, 61, 62, 63], [0, 1, 2, 3]]  # fmt: skip
    assert len(pids) == 2


def test_tensors_are_drawn_as_torch_would_collate_them() -> None:
    x, y = torch.randn(10, 3), torch.arange(10)
    course = Course.of_epochs(10, 4, 1)
    quick = [piece.batch_of_user for piece in rest_of(Loader(TensorDataset(x, y), course, seed=1))]
    slow = [piece.batch_of_user for piece in rest_of(Loader(list(zip(x, y, strict=True)), course, seed=1))]
    part = Subset(TensorDataset(x, y), range(10))
    parts = [piece.batch_of_user for piece in rest_of(Loader(part, course, seed=1))]

    for one, other, third in zip(quick, slow, parts, strict=True):
        assert type(one) is type(other)
        assert all(torch.equal(a, b) and torch.equal(a, c) for a, b, c in zip(one, other, third, strict=True))


def test_a_collate_function_of_the_user_is_used() -> None:
    loader = Loader(range(10), Course.of_epochs(10, 4, 1), seed=0, collate=sorted, shuffle=False)

    assert [piece.batch_of_user for piece in rest_of(loader)] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]


def test_a_signal_to_all_leaves_processes_of_the_loader_to_the_one_that_trains() -> None:
    loader = Loader(Signed(), Course.of_epochs(samples=64, global_batch=4, epochs=1), seed=0, workers=1)
    process = int(loader.next().batch_of_user[1][0])
    for number in ("INT", "TERM"):
        subprocess.run(["/bin/sh", "-c", f"kill -{number} {process}"], check=True)

    assert {int(piece.batch_of_user[1][0]) for piece in rest_of(loader)} == {process}

    os.kill(process, signal.SIGTERM)  # its parent may
    with pytest.raises(RuntimeError, match="exited unexpectedly"):
        loader.seek(0, 1, 0)
        loader.next()
    loader.close()
