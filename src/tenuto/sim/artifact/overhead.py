"""What scaling costs: constants of the reference, lower for a job whose communication group is cached."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tenuto.compiled import compiled
from tenuto.model.columns import Flags, Floats
from tenuto.sim.artifact.events import move_event
from tenuto.sim.artifact.levels import LEVELS, level_fitting
from tenuto.sim.artifact.state import Queue, Roster, Rows

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
def charge(costs: Costs, rows: Rows, roster: Roster, payers: Queue, restart: bool) -> None:
    """Let every job that holds GPUs pay for this round, even if nothing changed for it (Q22).

    A cached job escapes even the cost of a restart (Q5).
    """
    for job in payers.jobs[: payers.size[0]]:
        row = rows[job]
        if row.gpus == 0:
            continue
        level = level_fitting(row.gpus)
        fresh = costs.fresh[1 if restart else 0, level]
        row.overhead = costs.cached if costs.seen[row.rank, level] else fresh
        costs.seen[row.rank, level] = True
        row.end += row.overhead
        move_event(rows, roster, job, row.end)
    if restart:
        costs.seen[:] = False
