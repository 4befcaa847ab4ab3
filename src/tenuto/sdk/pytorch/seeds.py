"""Randomness that belongs to a sample, and leaves that of the program alone."""

from __future__ import annotations

import contextlib
import random
import sys
from collections.abc import Iterator

import torch

_WORD = (1 << 64) - 1


def mixed(*numbers: int) -> int:
    """One seed of several numbers; neighbours have nothing in common (splitmix64)."""
    value = 0x7E40
    for number in numbers:
        value = (value ^ (number & _WORD)) + 0x9E3779B97F4A7C15 & _WORD
        value = (value ^ value >> 30) * 0xBF58476D1CE4E5B9 & _WORD
        value = (value ^ value >> 27) * 0x94D049BB133111EB & _WORD
        value ^= value >> 31
    return value >> 1  # torch takes signed ones too, but means something else by them


def seed_all(seed: int) -> None:
    """Begin anew every source of chance that a dataset commonly draws from."""
    random.seed(seed)
    torch.default_generator.manual_seed(seed)
    if (numpy := sys.modules.get("numpy")) is not None:
        numpy.random.seed(seed & 0xFFFFFFFF)


@contextlib.contextmanager
def own_randomness(*, unless: bool = False) -> Iterator[None]:
    """Whatever is drawn or seeded inside, the program goes on as if it had not been."""
    if unless:
        yield
        return
    numpy = sys.modules.get("numpy")
    kept = random.getstate(), torch.default_generator.get_state(), numpy and numpy.random.get_state()
    try:
        yield
    finally:
        random.setstate(kept[0])
        torch.default_generator.set_state(kept[1])
        if numpy is not None:
            numpy.random.set_state(kept[2])
