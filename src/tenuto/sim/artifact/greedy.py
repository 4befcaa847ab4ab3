"""Left-over GPUs: handed out level by level to the job whose bill of GPU seconds grows *most* per added GPU (Q1)."""

from __future__ import annotations

import numpy as np

from tenuto.compiled import compiled
from tenuto.sim.artifact.capacity import Capacity, aligned
from tenuto.sim.artifact.draft import adopt, bill, given_back, record
from tenuto.sim.artifact.events import move_event
from tenuto.sim.artifact.levels import level_fitting
from tenuto.sim.artifact.planner import Ask, planned_from
from tenuto.sim.artifact.plans import Plans
from tenuto.sim.artifact.queues import sort_by
from tenuto.sim.artifact.share import ask_for, start
from tenuto.sim.artifact.state import PENDING
from tenuto.sim.artifact.world import World


@compiled
def spend_left_over(world: World, plans: Plans) -> Plans:
    """Grow jobs while GPUs are free. The queue is left in the order of the last sort."""
    live, queue = world.live, world.queue
    free = world.rules.total
    for job in queue.jobs[: queue.size[0]]:
        free -= live.gpus[job]
        world.target[job] = min(level_fitting(live.gpus[job]) + 1, world.jobs.limit[job])
    if free == 0:
        return plans
    for job in queue.jobs[: queue.size[0]]:
        world.key[job] = _priority(world, plans, job, free)
    sort_by(queue, world.key, world.spare)
    while free > 0:
        chosen = _first_that_fits(world, free)
        if chosen >= 0:
            free -= _increase(world, chosen)
            plans = _grow(world, plans, chosen)
        for job in queue.jobs[: queue.size[0]]:
            if world.target[job] > level_fitting(live.gpus[job]):
                world.key[job] = _priority(world, plans, job, free)
        sort_by(queue, world.key, world.spare)
        if chosen < 0:
            break
    return plans


@compiled
def _increase(world: World, job: int) -> int:
    return int((1 << world.target[job]) - world.live.gpus[job])


@compiled
def _first_that_fits(world: World, free: int) -> int:
    for job in world.queue.jobs[: world.queue.size[0]]:
        if 0 < _increase(world, job) <= free:
            return int(job)
    return -1


@compiled
def _priority(world: World, plans: Plans, job: int, free: int) -> float:
    """Rate the job's next level: minus the growth of its bill per added GPU; lowest is served first."""
    increase = _increase(world, job)
    if increase == 0 or increase > free:
        return np.inf
    if world.live.gpus[job] == 0:
        return -np.inf
    growth = _grown_bill(world, plans, job) - _present_bill(plans, job, world.live.end[job])
    return float(-growth / increase)


@compiled
def _present_bill(plans: Plans, job: int, end: float) -> float:
    first = plans.first[job]
    last = first + plans.size[job] - 1
    total = 0.0
    for step in range(first, last):
        total += plans.gpus[step] * (plans.time[step + 1] - plans.time[step])
    return float(total + plans.gpus[last] * (end - plans.time[last]))


@compiled
def _grown_bill(world: World, plans: Plans, job: int) -> float:
    """Tell the job's GPU seconds if it got its next level now."""
    ask = ask_for(world, job)
    level = world.target[job]
    end = world.live.end[job]
    real_end = np.ceil(ask.now + ask.left / ask.rate[level])
    new_end = aligned(ask.now, real_end, ask.slot)
    if ask.deadline >= real_end and not _changes_before(world.capacity, plans, job, end, new_end):
        return float((1 << level) * (new_end - ask.now))
    size = given_back(world.capacity, plans, job, end, world.draft)
    return bill(world.draft, planned_from(world.draft, size, ask, level))


@compiled
def _changes_before(capacity: Capacity, plans: Plans, job: int, end: float, horizon: float) -> bool:
    """Tell whether the capacity without the job's own plan changes before a time: without drafting it."""
    last = int(capacity.size[0])
    entry = plans.first[job]
    stop = entry + plans.size[job]
    free, share = capacity.free[0], plans.gpus[entry]
    present = free + share
    step, entry = 1, entry + 1
    while True:
        time = end if share != 0 else np.inf
        if step < last:
            time = min(time, capacity.time[step])
        if entry < stop:
            time = min(time, plans.time[entry])
        if time >= horizon:
            return False
        if step < last and capacity.time[step] == time:
            free = capacity.free[step]
            step += 1
        if entry < stop and plans.time[entry] == time:
            share = plans.gpus[entry]
            entry += 1
        if time >= end:
            share, entry = 0, stop
        if free + share != present:
            return True


@compiled
def _grow(world: World, plans: Plans, job: int) -> Plans:
    """Give the job its next level."""
    live, draft = world.live, world.draft
    ask: Ask = ask_for(world, job)
    level = world.target[job]
    size = given_back(world.capacity, plans, job, live.end[job], draft)
    sketch = planned_from(draft, size, ask, level)
    adopt(draft, sketch, world.capacity)
    live.end[job] = sketch.end
    move_event(world.jobs, live, world.queue, world.alarms, job, sketch.end)
    if world.rules.refresh:
        live.real_end[job] = sketch.real_end
    live.gpus[job] = 1 << level
    world.target[job] = min(level + 1, world.jobs.limit[job])
    if live.phase[job] == PENDING:
        start(world, job)
    return record(plans, job, draft, sketch.entries)
