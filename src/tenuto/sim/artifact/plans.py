"""Planned allocations of all jobs of one event, packed one behind the other."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tenuto.compiled import compiled
from tenuto.model.columns import Floats, Ints


class Plans(NamedTuple):
    """Job j holds `gpus[k]` from `time[k]` on, for the `size[j]` steps k from `first[j]`. Equal steps are merged."""

    first: Ints
    size: Ints
    time: Floats
    gpus: Ints
    used: Ints
    """One number: steps in use, those of replaced plans among them."""


@compiled
def empty_plans(jobs: int) -> Plans:
    """Make room for plans; more is taken when they need it."""
    room = 64
    return Plans(
        np.zeros(jobs, np.int64),
        np.zeros(jobs, np.int64),
        np.zeros(room),
        np.zeros(room, np.int64),
        np.zeros(1, np.int64),
    )


@compiled
def with_room(plans: Plans, steps: int) -> Plans:
    """Return plans to which so many steps can be added."""
    used = plans.used[0]
    if used + steps <= len(plans.time):
        return plans
    room = 2 * (used + steps)
    time = np.zeros(room)
    gpus = np.zeros(room, np.int64)
    time[:used] = plans.time[:used]
    gpus[:used] = plans.gpus[:used]
    return Plans(plans.first, plans.size, time, gpus, plans.used)


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
