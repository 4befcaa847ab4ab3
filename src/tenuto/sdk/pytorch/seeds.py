"""Randomness that belongs to a sample, and leaves that of the program alone."""

from __future__ import annotations

import random
import sys
from typing import Any

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


class Chance:
    """Every such source as it stands at one moment."""

    def __init__(self) -> None:
        self._python = random.getstate()
        self._torch = torch.default_generator.get_state()
        self._numpy = _state_of_numpy()

    def has_changed(self) -> bool:
        """Whether anything was drawn or seeded since."""
        return (
            not torch.equal(self._torch, torch.default_generator.get_state())
            or random.getstate() != self._python
            or not _is_same(self._numpy, _state_of_numpy())
        )

    def restore(self) -> None:
        """Go on as if nothing had been drawn."""
        random.setstate(self._python)
        torch.default_generator.set_state(self._torch)
        if self._numpy is not None:
            sys.modules["numpy"].random.set_state(self._numpy)


def _state_of_numpy() -> Any:
    """None where nobody has imported it."""
    numpy = sys.modules.get("numpy")
    return None if numpy is None else numpy.random.get_state()


def _is_same(before: Any, now: Any) -> bool:
    if before is None or now is None:
        return before is now
    _, words, *rest = before
    _, words_now, *rest_now = now
    return bool(rest == rest_now and (words == words_now).all())
