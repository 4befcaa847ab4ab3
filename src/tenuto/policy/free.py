"""The free-capacity profile: how many slots nobody has reserved, from now on."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tenuto.compiled import compiled
from tenuto.model.columns import Floats, Ints


class Free(NamedTuple):
    """`slots[k]` are free from `at[k]` until `at[k + 1]`, the last ones for ever; `used` entries count.

    Kernels that change a profile may outgrow its columns: callers go on with the one they get back.
    """

    at: Floats
    slots: Ints
    used: int


@compiled
def all_free(now: float, capacity: int, room: int) -> Free:
    """Give the profile of an empty cluster, with room for that many segments."""
    at = np.empty(room + 2, dtype=np.float64)
    slots = np.empty(room + 2, dtype=np.int64)
    at[0] = now
    slots[0] = capacity
    return Free(at, slots, 1)


@compiled
def _cut(free: Free, time: float) -> tuple[Free, int]:
    """Make a segment begin at `time` (not before the first one) and say which it is."""
    at, slots, count = free.at, free.slots, free.used
    where = int(np.searchsorted(at[:count], time, side="right")) - 1
    if at[where] == time:
        return free, where
    if count == len(at):
        at = np.concatenate((at, np.empty(count, dtype=np.float64)))
        slots = np.concatenate((slots, np.empty(count, dtype=np.int64)))
    for k in range(count, where + 1, -1):
        at[k] = at[k - 1]
        slots[k] = slots[k - 1]
    at[where + 1] = time
    slots[where + 1] = slots[where]
    return Free(at, slots, count + 1), where + 1


@compiled
def take(free: Free, begin: float, end: float, slots: int) -> Free:
    """Reserve slots in [begin, end); a negative number gives them back."""
    begin = max(begin, free.at[0])
    if slots == 0 or end <= begin:
        return free
    free, first = _cut(free, begin)
    last = free.used
    if end < np.inf:
        free, last = _cut(free, end)
    for k in range(first, last):
        free.slots[k] -= slots
    return free


@compiled
def take_segments(free: Free, at: Floats, size: Ints, end: float, sign: int) -> Free:
    """Reserve a job's whole plan (sign 1) or give it back (sign -1)."""
    for k in range(len(at)):
        until = at[k + 1] if k + 1 < len(at) else end
        free = take(free, at[k], until, sign * size[k])
    return free


@compiled
def least_free(free: Free, begin: float, end: float) -> int:
    """Return the fewest slots that are free at any moment of [begin, end)."""
    k = max(int(np.searchsorted(free.at[: free.used], begin, side="right")) - 1, 0)
    least = free.slots[k]
    k += 1
    while k < free.used and free.at[k] < end:
        least = min(least, free.slots[k])
        k += 1
    return int(least)


@compiled
def free_until(free: Free, segment: int, slots: int) -> float:
    """Until when that many slots stay free, beginning with a segment in which they are."""
    for k in range(segment + 1, free.used):
        if free.slots[k] < slots:
            return float(free.at[k])
    return np.inf
