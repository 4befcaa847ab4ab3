"""The free-capacity profile: how many GPUs are free from which time on, while jobs are planned one by one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tenuto.compiled import compiled
from tenuto.model.columns import Floats, Ints


class Capacity(NamedTuple):
    """A step function: `free[k]` GPUs from `time[k]` until the next time, the last ones for ever."""

    time: Floats
    free: Ints
    size: Ints
    """One number: how many steps are in use."""


def capacity_for(jobs: int, total: int) -> Capacity:
    """Make room for all plans of one event.

    Each adds at most two steps, its end and its deadline. Every job is planned at most twice, and grown once for each
    GPU of the cluster at most.
    """
    room = 4 * jobs + 2 * total + 16
    return Capacity(np.zeros(room), np.zeros(room, dtype=np.int64), np.zeros(1, dtype=np.int64))


@compiled
def aligned(start: float, time: float, slot: float) -> float:
    """Delay a time to a whole number of slots after the start."""
    return float(start + np.ceil((time - start) / slot) * slot)


@compiled
def first_not_before(times: Floats, size: int, time: float) -> int:
    """Find the first of so many ascending times that is not before a time."""
    low, high = 0, size
    while low < high:
        middle = (low + high) // 2
        if times[middle] < time:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def all_free(capacity: Capacity, now: float, total: int) -> None:
    """Begin with an empty cluster."""
    capacity.time[0] = now
    capacity.free[0] = total
    capacity.size[0] = 1


@compiled
def copy_capacity(source: Capacity, target: Capacity) -> None:
    """Remember a profile, to come back to it."""
    for step in range(source.size[0]):
        target.time[step] = source.time[step]
        target.free[step] = source.free[step]
    target.size[0] = source.size[0]


@compiled
def put_step(capacity: Capacity, size: int, time: float, free: int) -> int:
    """Append a step behind the first `size` unless it equals the last of them. Return the number of steps."""
    if size > 0 and capacity.free[size - 1] == free:
        return size
    capacity.time[size] = time
    capacity.free[size] = free
    return size + 1


@compiled
def insert_step(capacity: Capacity, place: int, time: float) -> None:
    """Make room for a step; its value is left to the caller."""
    for step in range(capacity.size[0], place, -1):
        capacity.time[step] = capacity.time[step - 1]
        capacity.free[step] = capacity.free[step - 1]
    capacity.time[place] = time
    capacity.size[0] += 1


@compiled
def merge_steps(capacity: Capacity, first: int, last: int) -> None:
    """Merge equal neighbours; only steps from first to last were touched, so only they can be equal."""
    size = max(first, 1)
    for step in range(size, capacity.size[0]):
        if step > last + 1 and size == step:
            return
        if capacity.free[step] != capacity.free[size - 1]:
            capacity.time[size] = capacity.time[step]
            capacity.free[size] = capacity.free[step]
            size += 1
    capacity.size[0] = size
