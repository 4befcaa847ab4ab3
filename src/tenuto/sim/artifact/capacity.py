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


def capacity_for(jobs: int) -> Capacity:
    """Make room for the plans of so many jobs; each adds at most its end and its deadline."""
    room = 2 * jobs + 8
    return Capacity(np.zeros(room), np.zeros(room, dtype=np.int64), np.zeros(1, dtype=np.int64))


@compiled
def all_free(capacity: Capacity, now: float, total: int) -> None:
    """Begin with an empty cluster."""
    capacity.time[0] = now
    capacity.free[0] = total
    capacity.size[0] = 1


@compiled
def copy_capacity(source: Capacity, target: Capacity) -> None:
    """Remember a profile, to come back to it."""
    size = source.size[0]
    target.time[:size] = source.time[:size]
    target.free[:size] = source.free[:size]
    target.size[0] = size


@compiled
def aligned(start: float, time: float, slot: float) -> float:
    """Delay a time to a whole number of slots after the start."""
    return float(start + np.ceil((time - start) / slot) * slot)
