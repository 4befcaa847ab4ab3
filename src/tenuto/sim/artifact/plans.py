"""Planned allocations of all jobs of one event, packed one behind the other."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tenuto.compiled import compiled
from tenuto.model.columns import Floats, Ints


class Plans(NamedTuple):
    """Job j holds `gpus[k]` from `time[k]` on, for the `size[j]` steps k from `first[j]`; equal steps are merged."""

    first: Ints
    size: Ints
    time: Floats
    gpus: Ints
    used: Ints
    """One number: steps in use, those of replaced plans among them."""


def plans_for(jobs: int) -> Plans:
    """Make room for plans; more is taken when they need it."""
    room = 64
    ints = [np.zeros(count, dtype=np.int64) for count in (jobs, jobs, room, 1)]
    return Plans(ints[0], ints[1], np.zeros(room), ints[2], ints[3])


@compiled
def record(plans: Plans, job: int, time: Floats, share: Ints, steps: int) -> Plans:
    """Store a job's plan, given as a share for each of the first steps. Return the plans, enlarged if need be."""
    plans = _with_room(plans, steps)
    first = plans.used[0]
    used = first
    for step in range(steps):
        if used == first or plans.gpus[used - 1] != share[step]:
            plans.time[used] = time[step]
            plans.gpus[used] = share[step]
            used += 1
    plans.first[job] = first
    plans.size[job] = used - first
    plans.used[0] = used
    return plans


@compiled
def _with_room(plans: Plans, steps: int) -> Plans:
    used = plans.used[0]
    if used + steps <= len(plans.time):
        return plans
    room = 2 * (used + steps)
    time = np.zeros(room)
    gpus = np.zeros(room, np.int64)
    for step in range(used):
        time[step] = plans.time[step]
        gpus[step] = plans.gpus[step]
    return Plans(plans.first, plans.size, time, gpus, plans.used)


@compiled
def bill(plans: Plans, job: int, end: float) -> float:
    """Sum up GPU seconds. A step beyond the end is counted as the reference does: the one before it in full (Q3)."""
    first = plans.first[job]
    last = first + plans.size[job] - 1
    total = 0.0
    for step in range(first, last):
        total += plans.gpus[step] * (plans.time[step + 1] - plans.time[step])
    return float(total + plans.gpus[last] * (end - plans.time[last]))


@compiled
def share_now(plans: Plans, job: int) -> int:
    """Look up the GPUs that the plan gives at once."""
    return int(plans.gpus[plans.first[job]])


@compiled
def next_change(plans: Plans, job: int) -> float:
    """Look up when the plan changes next, even if that is after the job's end; infinity if it never does."""
    if plans.size[job] < 2:
        return np.inf
    return float(plans.time[plans.first[job] + 1])


@compiled
def next_start(plans: Plans, job: int) -> float:
    """Look up when a waiting job's plan first gives it GPUs; infinity if it never does."""
    for step in range(plans.first[job], plans.first[job] + plans.size[job]):
        if plans.gpus[step] > 0:
            return float(plans.time[step])
    return np.inf
