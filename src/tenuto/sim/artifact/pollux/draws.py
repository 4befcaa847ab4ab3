"""Chance inside kernels: a generator whose whole state is one number, so that a seed decides everything."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tenuto.compiled import compiled
from tenuto.model.columns import Ints

Random = NDArray[np.uint64]
"""One number: the state of SplitMix64."""

_STEP = np.uint64(0x9E3779B97F4A7C15)
_MIX_1, _MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_30, _27, _31, _11 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11)


def seeded(seed: int) -> Random:
    """Begin a sequence."""
    return np.array([seed % 2**64], dtype=np.uint64)


@compiled
def mixed(number: np.uint64) -> np.uint64:
    """Scatter a number over all 64 bits."""
    number = (number ^ (number >> _30)) * _MIX_1
    number = (number ^ (number >> _27)) * _MIX_2
    return number ^ (number >> _31)


@compiled
def uniform(random: Random) -> float:
    """Draw from 0 to below 1."""
    random[0] += _STEP
    return float(mixed(random[0]) >> _11) * 2.0**-53


@compiled
def below(random: Random, count: int) -> int:
    """Draw one of so many whole numbers, beginning with 0."""
    return int(uniform(random) * count)


@compiled
def shuffle(random: Random, numbers: Ints) -> None:
    """Bring numbers into any order."""
    for last in range(len(numbers) - 1, 0, -1):
        other = below(random, last + 1)
        numbers[last], numbers[other] = numbers[other], numbers[last]
