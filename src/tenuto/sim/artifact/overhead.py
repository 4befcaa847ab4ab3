"""What scaling costs: constants of the reference, lower for a job whose communication group is cached."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tenuto.compiled import compiled
from tenuto.model.columns import Flags, Floats
from tenuto.sim.artifact.levels import LEVELS, level_fitting

_LARGE_CLUSTER = 256


class Costs(NamedTuple):
    """Seconds of overhead, and the groups that were built before."""

    fresh: Floats
    """For each level: on an ordinary round and, in the second row, on a restart round."""
    cached: float
    seen: Flags
    """For each first rank and level whether such a group was built."""


def costs_of(total: int) -> Costs:
    """Work out the constants for a cluster of so many GPUs."""
    large = total >= _LARGE_CLUSTER
    base = 7.0 if large else 2.0
    ordinary = base + 2.0 * (np.arange(LEVELS) + 1)
    restart = ordinary + (47.0 if large else 27.0)
    return Costs(np.stack([ordinary, restart]), base, np.zeros((total, LEVELS), dtype=np.bool_))


@compiled
def is_restart(rounds: int, slot: float) -> bool:
    """Tell whether all jobs restart: the slot's *seconds* are taken as a number of rounds (Q5)."""
    return bool(rounds > 0 and rounds % slot == 0)


@compiled
def overhead(costs: Costs, rank: int, gpus: int, restart: bool) -> float:
    """Charge a placed job and remember its group. A cached one escapes even the cost of a restart (Q5)."""
    level = level_fitting(gpus)
    if costs.seen[rank, level]:
        return float(costs.cached)
    costs.seen[rank, level] = True
    return float(costs.fresh[1 if restart else 0, level])
