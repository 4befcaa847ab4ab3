"""EDF's planner: every job wants its largest size at once and takes what earlier deadlines leave (Q9)."""

from __future__ import annotations

import numpy as np

from tenuto.compiled import compiled
from tenuto.sim.artifact.capacity import Capacity, aligned
from tenuto.sim.artifact.levels import level_fitting
from tenuto.sim.artifact.world import World


@compiled
def plan_edf(world: World, job: int) -> None:
    """Plan a job on the capacity profile and take its share out. Note its GPUs for now and its end."""
    capacity = world.capacity
    rate = world.jobs.rate[job]
    wanted = min(world.jobs.limit[job], level_fitting(world.rules.total))
    todo = world.live.left[job]
    world.planned_gpus[job] = 0
    first = -1
    for step in range(capacity.size[0] - 1):
        taken = min(wanted, level_fitting(capacity.free[step]))
        if taken < 0:
            continue
        if first < 0:
            first = step
        if step == 0:
            world.planned_gpus[job] = 1 << taken
        time = capacity.time[step]
        end = np.ceil(time + todo / rate[taken])
        if capacity.time[step + 1] >= end:
            world.planned_end[job] = end
            _close(world, step, 1 << taken, end)
            _merge(capacity, first, step + 2)
            return
        todo -= (capacity.time[step + 1] - time) * rate[taken]
        capacity.free[step] -= 1 << taken
    _take_last(world, job, wanted, todo)
    _merge(capacity, max(first, 0), capacity.size[0])


@compiled
def _close(world: World, step: int, gpus: int, end: float) -> None:
    """Take the share in the last step, and give it back at the end of the slot in which the job ends."""
    capacity = world.capacity
    if end == capacity.time[step]:
        return
    free = capacity.free[step]
    capacity.free[step] = free - gpus
    following = step + 1
    if end == capacity.time[following]:
        return
    back = aligned(capacity.time[0], end, world.rules.slot)
    if back != capacity.time[following]:
        _insert(capacity, following, back)
    # If the profile has a step there already, it is overwritten: what others planned there is forgotten (Q4).
    capacity.free[following] = free


@compiled
def _take_last(world: World, job: int, wanted: int, todo: float) -> None:
    """Plan behind the last step, where the reference takes the whole cluster for free."""
    capacity, total = world.capacity, world.rules.total
    last = capacity.size[0] - 1
    if last == 0:
        world.planned_gpus[job] = 1 << wanted
    time = capacity.time[last]
    end = np.ceil(time + todo / world.jobs.rate[job, wanted])
    back = aligned(capacity.time[0], end, world.rules.slot)
    world.planned_end[job] = end
    capacity.free[last] = total - (1 << wanted)
    if back > time:
        _insert(capacity, last + 1, back)
        last += 1
    capacity.free[last] = total


@compiled
def _insert(capacity: Capacity, place: int, time: float) -> None:
    for step in range(capacity.size[0], place, -1):
        capacity.time[step] = capacity.time[step - 1]
        capacity.free[step] = capacity.free[step - 1]
    capacity.time[place] = time
    capacity.size[0] += 1


@compiled
def _merge(capacity: Capacity, first: int, last: int) -> None:
    """Merge equal neighbours among the steps from first to last, the only ones that were touched."""
    size = max(first, 1)
    for step in range(size, capacity.size[0]):
        if step > last and size == step:
            return
        if capacity.free[step] != capacity.free[size - 1]:
            capacity.time[size] = capacity.time[step]
            capacity.free[size] = capacity.free[step]
            size += 1
    capacity.size[0] = size
