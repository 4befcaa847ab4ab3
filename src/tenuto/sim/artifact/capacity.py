"""The free-capacity profile: how many GPUs are free from which time on, while jobs are planned one by one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tenuto.compiled import compiled
from tenuto.model.columns import Ints
from tenuto.sim.artifact.state import Rows

STEP = np.dtype(
    [
        ("time", np.float64),
        ("free", np.int64),  # GPUs free from that time on
        ("share", np.int64),  # GPUs of the job that is planned
        ("before", np.int64),  # GPUs free without that job, while it is planned on a sheet
    ],
    align=True,
)


class Capacity(NamedTuple):
    """A step function: the value of a step holds until the next one's time, the last value for ever."""

    steps: Rows
    """A table of type STEP."""
    size: Ints
    """One number: how many steps are in use."""


def capacity_for(jobs: int, total: int) -> Capacity:
    """Make room for all plans of one event.

    Each adds at most two steps, its end and its deadline. Every job is planned at most twice, and the jobs
    are grown at most as often as the cluster has GPUs.
    """
    return Capacity(np.zeros(4 * jobs + 2 * total + 16, dtype=STEP), np.zeros(1, dtype=np.int64))


@compiled
def aligned(start: float, time: float, slot: float) -> float:
    """Delay a time to a whole number of slots after the start."""
    return float(start + np.ceil((time - start) / slot) * slot)


@compiled
def first_not_before(steps: Rows, size: int, time: float) -> int:
    """Find the first of so many steps that is not before a time."""
    low, high = 0, size
    while low < high:
        middle = (low + high) // 2
        if steps[middle].time < time:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def all_free(capacity: Capacity, now: float, total: int) -> None:
    """Begin with an empty cluster."""
    capacity.steps[0].time = now
    capacity.steps[0].free = total
    capacity.size[0] = 1


@compiled
def copy_capacity(source: Capacity, target: Capacity) -> None:
    """Remember a profile, to come back to it."""
    size = source.size[0]
    copy_steps(source.steps, target.steps, size)
    target.size[0] = size


@compiled
def copy_steps(source: Rows, target: Rows, size: int) -> None:
    """Copy times and free GPUs."""
    for step in range(size):
        target[step].time = source[step].time
        target[step].free = source[step].free


@compiled
def put_step(steps: Rows, size: int, time: float, free: int) -> int:
    """Append a step behind the first `size` unless it equals the last of them. Return the number of steps."""
    if size > 0 and steps[size - 1].free == free:
        return size
    steps[size].time = time
    steps[size].free = free
    return size + 1


@compiled
def insert_step(capacity: Capacity, place: int, time: float, free: int) -> None:
    """Insert a step; those behind it move on."""
    steps, size = capacity.steps, capacity.size[0]
    for step in range(size, place, -1):
        steps[step].time = steps[step - 1].time
        steps[step].free = steps[step - 1].free
    steps[place].time = time
    steps[place].free = free
    capacity.size[0] = size + 1


@compiled
def merge_steps(capacity: Capacity, first: int, last: int) -> None:
    """Merge equal neighbours; only steps from first to last were touched, so only they can be equal."""
    steps = capacity.steps
    size = max(first, 1)
    for step in range(size, capacity.size[0]):
        if step > last + 1 and size == step:
            return
        if steps[step].free != steps[size - 1].free:
            steps[size].time = steps[step].time
            steps[size].free = steps[step].free
            size += 1
    capacity.size[0] = size
