"""Planned allocations of all jobs of one event, packed one behind the other."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tenuto.compiled import compiled
from tenuto.model.columns import Ints
from tenuto.sim.artifact.state import Rows

_PLANNED = np.dtype([("time", np.float64), ("gpus", np.int64)], align=True)


class Plans(NamedTuple):
    """Each job's row tells where its steps begin and how many there are; no neighbours are equal."""

    steps: Rows
    """From which time on the job holds how many GPUs."""
    used: Ints
    """One number: steps in use, those of replaced plans among them."""


def plans_for(jobs: int) -> Plans:
    """Make room for plans; more is taken when they need it."""
    return Plans(np.zeros(8 * jobs + 64, dtype=_PLANNED), np.zeros(1, dtype=np.int64))


@compiled
def record(plans: Plans, rows: Rows, job: int, shares: Rows, count: int) -> Plans:
    """Store a job's plan, given as a share for each of the first steps. Return the plans, enlarged if need be."""
    if plans.used[0] + count > len(plans.steps):
        plans = _enlarged(plans, count)
    steps = plans.steps
    first = plans.used[0]
    used = first
    for step in range(count):
        if used == first or steps[used - 1].gpus != shares[step].share:
            steps[used].time = shares[step].time
            steps[used].gpus = shares[step].share
            used += 1
    rows[job].plan = first
    rows[job].plan_end = used
    plans.used[0] = used
    return plans


@compiled
def _enlarged(plans: Plans, count: int) -> Plans:
    used = plans.used[0]
    longer = np.zeros(2 * (used + count), _PLANNED)
    for step in range(used):
        longer[step].time = plans.steps[step].time
        longer[step].gpus = plans.steps[step].gpus
    return Plans(longer, plans.used)


@compiled
def bill(steps: Rows, first: int, last: int, end: float) -> float:
    """Sum up the GPU seconds of a plan.

    A step beyond the end is counted as the reference does: the one before it in full (Q3).
    """
    total = 0.0
    for step in range(first, last - 1):
        total += steps[step].gpus * (steps[step + 1].time - steps[step].time)
    return float(total + steps[last - 1].gpus * (end - steps[last - 1].time))


@compiled
def share_now(plans: Plans, rows: Rows, job: int) -> int:
    """Look up the GPUs that the plan gives at once."""
    return int(plans.steps[rows[job].plan].gpus)


@compiled
def next_change(plans: Plans, rows: Rows, job: int) -> float:
    """Look up when the plan changes next, even if that is after the job's end; infinity if it never does."""
    row = rows[job]
    if row.plan_end - row.plan < 2:
        return np.inf
    return float(plans.steps[row.plan + 1].time)


@compiled
def next_start(plans: Plans, rows: Rows, job: int) -> float:
    """Look up when a waiting job's plan first gives it GPUs; infinity if it never does."""
    for step in range(rows[job].plan, rows[job].plan_end):
        if plans.steps[step].gpus > 0:
            return float(plans.steps[step].time)
    return np.inf
