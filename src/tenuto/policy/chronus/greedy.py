"""Packing leases without a solver: large jobs first, each as late as its deadline allows.

What is left free is then early, so that a job that comes tomorrow with a near deadline finds room. A job's leases are
listed from the latest to the earliest, in the order in which they are found.
"""

from __future__ import annotations

import numpy as np

from tenuto.compiled import compiled
from tenuto.model.columns import Flags, Ints


def packing_order(size: Ints, need: Ints, available: Ints) -> Ints:
    """Large jobs first, among them those with the fewest leases to spare, among them the late ones."""
    return np.lexsort((-available, available - need, -size))


def latest_leases(size: Ints, need: Ints, available: Ints, capacity: Ints) -> Flags | None:
    """Choose `need[i]` of job i's first `available[i]` leases for every job; None if somebody is left over."""
    leases = packed(size, need, available, capacity)
    if leases is None:
        return None
    chosen = np.zeros((len(size), len(capacity)), dtype=np.bool_)
    chosen[np.repeat(np.arange(len(size)), need), leases] = True
    return chosen


def packed(size: Ints, need: Ints, available: Ints, capacity: Ints) -> Ints | None:
    """The leases of all jobs, job by job; None if somebody is left over."""
    if surely_too_much(size, need, available, capacity):
        return None
    room, leases = capacity.copy(), np.empty(int(need.sum()), dtype=np.int64)
    done = _pack(packing_order(size, need, available), size, need, available, room, leases)
    return leases if done else None


def surely_too_much(size: Ints, need: Ints, available: Ints, capacity: Ints) -> bool:
    """Whether the jobs due by some moment need more slots than all leases until then have together."""
    available = np.clip(available, 0, len(capacity))
    if (need > available).any():
        return True
    order = np.argsort(available, kind="stable")
    offered = np.concatenate([[0], np.cumsum(np.maximum(capacity, 0))])[available[order]]
    return bool((np.cumsum((size * need)[order]) > offered).any())


@compiled
def _take_latest(size: int, need: int, available: int, room: Ints, leases: Ints) -> bool:
    """Give one job the latest leases that have room; False, and nothing changed, if they are too few."""
    found = 0
    for lease in range(min(available, len(room)) - 1, -1, -1):
        if found == need:
            break
        if room[lease] >= size:
            leases[found] = lease
            found += 1
    if found < need:
        return False
    for k in range(need):
        room[leases[k]] -= size
    return True


@compiled
def _pack(order: Ints, size: Ints, need: Ints, available: Ints, room: Ints, leases: Ints) -> bool:
    """Give all jobs their leases in an order; False at the first one that finds too few."""
    offset = np.cumsum(need) - need
    for i in order:
        own = leases[offset[i] : offset[i] + need[i]]
        if not _take_latest(size[i], need[i], available[i], room, own):
            return False
    return True
