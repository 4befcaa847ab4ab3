"""Packing leases without a solver: large jobs first, each as late as its deadline allows.

What is left free is then early, so that a job that comes tomorrow with a near deadline finds room.
"""

from __future__ import annotations

import numpy as np

from tenuto.compiled import compiled
from tenuto.model.columns import Flags, Ints


def packing_order(size: Ints, need: Ints, available: Ints) -> Ints:
    """Large jobs first, among them those with the fewest leases to spare, among them the late ones."""
    return np.lexsort((-available, available - need, -size))


def latest_leases(size: Ints, need: Ints, available: Ints, capacity: Ints) -> Flags | None:
    """Choose `need[i]` of job i's first `available[i]` leases for every job, or None if somebody is left over."""
    room = capacity.copy()
    chosen = np.zeros((len(size), len(capacity)), dtype=np.bool_)
    for job in packing_order(size, need, available).tolist():
        if not take_latest(size[job], need[job], available[job], room, chosen[job]):
            return None
    return chosen


@compiled
def take_latest(size: int, need: int, available: int, room: Ints, chosen: Flags) -> bool:
    """Give one job its leases, from the latest to the earliest that has room; False if there are too few.

    After False, `room` and `chosen` are half changed and of no use.
    """
    for lease in range(min(available, len(room)) - 1, -1, -1):
        if need == 0:
            break
        if room[lease] >= size:
            room[lease] -= size
            chosen[lease] = True
            need -= 1
    return bool(need == 0)
