"""The order of an epoch's samples, computed where it is looked at.

A shuffled list of a large dataset takes a second to make, and a newcomer would make the others wait for it. So there
is no list: a position is put through a few rounds that mix the bits of a number reversibly (a Feistel network), keyed
by the seed and the epoch. What falls outside the dataset is put through again until it does not, which keeps it a
permutation. Neither time nor memory depend on the size of the dataset.
"""

from __future__ import annotations

import torch

from tenuto.sdk.pytorch.seeds import mixed

_ROUNDS = 3
"""Of two halves each."""
_AHEAD, _FARTHEST = 1024, 1 << 16
"""Positions that are computed at once: few at first, because somebody waits, then more, because that is cheaper."""
_SPREAD = 0x1B873593CC9E2D51
_STIR = 0x2545F4914F6CDD1D
_SHIFT = 31
_HIGH = (1 << (64 - _SHIFT)) - 1


class Order:
    """Which sample stands at which position of an epoch. Without a seed, each at its own."""

    def __init__(self, samples: int, seed: int | None) -> None:
        self._samples = samples
        self._seed = seed
        self._epoch, self._from, self._ahead = -1, 0, _AHEAD
        self._known: list[int] = []

    def indices(self, epoch: int, start: int, stop: int) -> list[int]:
        """The samples at these positions."""
        if self._seed is None:
            return list(range(start, stop))
        known_to = self._from + len(self._known)
        if epoch != self._epoch or start < self._from or stop > known_to:
            ahead = torch.arange(start, min(self._samples, max(stop, start + self._ahead)))
            self._ahead = min(2 * self._ahead, _FARTHEST)
            keys = [mixed(self._seed, epoch, number) for number in range(2 * _ROUNDS)]
            self._known = _permuted(ahead, self._samples, keys).tolist()
            self._epoch, self._from = epoch, start
        return self._known[start - self._from : stop - self._from]


def _permuted(positions: torch.Tensor, samples: int, keys: list[int]) -> torch.Tensor:
    """A permutation of the numbers below `samples`, at these positions."""
    bits = max(samples - 1, 1).bit_length()
    found = _mix(positions, bits, keys)
    while (outside := (found >= samples).nonzero().squeeze(1)).numel():
        found[outside] = _mix(found[outside], bits, keys)
    return found


def _mix(numbers: torch.Tensor, bits: int, keys: list[int]) -> torch.Tensor:
    """A permutation of all numbers of so many bits: each half in turn is changed by what the other one is."""
    low = bits // 2
    few, many = (1 << low) - 1, (1 << (bits - low)) - 1
    right, left = numbers & few, numbers >> low
    for key_of_left, key_of_right in zip(keys[::2], keys[1::2], strict=True):
        left ^= _hashed(right, key_of_left).bitwise_and_(many)
        right ^= _hashed(left, key_of_right).bitwise_and_(few)
    return left.bitwise_left_shift_(low).bitwise_or_(right)


def _hashed(numbers: torch.Tensor, key: int) -> torch.Tensor:
    """Multiplication carries upwards, so the upper bits are brought down; overflow is part of it."""
    stirred = numbers.add(key).mul_(_SPREAD)
    stirred ^= stirred.bitwise_right_shift(_SHIFT).bitwise_and_(_HIGH)
    return stirred.mul_(_STIR).bitwise_right_shift_(_SHIFT)
