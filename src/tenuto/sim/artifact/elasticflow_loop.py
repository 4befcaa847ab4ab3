"""ElasticFlow with admission control, event by event as the reference handles it."""

from __future__ import annotations

import numpy as np

from tenuto.compiled import compiled
from tenuto.sim.artifact.capacity import all_free, copy_capacity
from tenuto.sim.artifact.events import advance, arrivals
from tenuto.sim.artifact.greedy import spend_left_over
from tenuto.sim.artifact.journal import log_event
from tenuto.sim.artifact.plans import Plans, empty_plans, next_change, share_now
from tenuto.sim.artifact.progress import end_jobs, work_off
from tenuto.sim.artifact.queues import append, keep_phases, sort_by
from tenuto.sim.artifact.share import (
    charge,
    place_by_size,
    plan_queue,
    remember_ends,
    sort_key_by_size,
    start,
)
from tenuto.sim.artifact.state import DECLINED, FUTURE, PENDING, RUNNING
from tenuto.sim.artifact.world import World


@compiled
def run_elasticflow(world: World, events: int) -> None:
    """Handle so many events, fewer if the replay is over."""
    plans = empty_plans(len(world.jobs.submitted))
    for _ in range(events):
        if world.clock.over[0]:
            return
        plans = _handle(world, plans)


@compiled
def _handle(world: World, plans: Plans) -> Plans:
    jobs, live, queue, clock = world.jobs, world.live, world.queue, world.clock
    work_off(jobs, live, queue, clock, True)
    idle = queue.size[0] == 0
    end_jobs(jobs, live, world.books, queue, clock, True, True)
    first, last = arrivals(jobs, clock)
    if idle and first == last:
        advance(jobs, live, queue, clock, world.rules.slot, np.inf, np.inf)
        return plans
    remember_ends(world)
    plans.used[0] = 0
    plans = _admit(world, plans, first, last)
    _follow_plans(world, plans)
    plans = spend_left_over(world, plans)
    sort_key_by_size(world)
    sort_by(queue, world.key, world.spare)
    place_by_size(world, queue)
    log_event(world.rules, jobs, live, world.books, queue, clock, world.groups, world.journal)
    # The planned change is compared with end events that do not yet include this round's overhead.
    wake = _change_before_events(world, plans)
    charge(world, queue)
    advance(jobs, live, queue, clock, world.rules.slot, wake, wake)
    return plans


@compiled
def _admit(world: World, plans: Plans, first: int, last: int) -> Plans:
    """Plan all jobs with the newcomers; if any job is late, decline every newcomer that has a deadline (Q6)."""
    jobs, live, queue = world.jobs, world.live, world.queue
    for job in range(first, last):
        append(queue, job)
    sort_by(queue, jobs.deadline, world.spare)
    count = queue.size[0]
    newcomer = 0
    while newcomer < count and not (
        live.phase[queue.jobs[newcomer]] == FUTURE and not jobs.best_effort[queue.jobs[newcomer]]
    ):
        newcomer += 1
    all_free(world.capacity, world.clock.now[0], world.rules.total)
    plans, late = plan_queue(world, plans, 0, newcomer, newcomer < count)
    if newcomer < count:
        if late == newcomer:
            copy_capacity(world.capacity, world.saved)
            plans, late = plan_queue(world, plans, newcomer, count, True)
            if late < count:
                copy_capacity(world.saved, world.capacity)
                late = newcomer
        else:
            late += 1
        if late < count:
            _decline(world, first, last)
            plans, _ = plan_queue(world, plans, late, queue.size[0], False)
    for job in range(first, last):
        if live.phase[job] == FUTURE:
            live.phase[job] = PENDING
            world.books.promised[job] = np.nan if jobs.best_effort[job] else live.real_end[job]
    return plans


@compiled
def _decline(world: World, first: int, last: int) -> None:
    for job in range(first, last):
        if not world.jobs.best_effort[job]:
            world.live.phase[job] = DECLINED
            world.clock.done[0] += 1
    keep_phases(world.queue, world.live.phase, FUTURE, RUNNING)


@compiled
def _follow_plans(world: World, plans: Plans) -> None:
    """Give every job what its plan says, move end events, start jobs."""
    live = world.live
    for job in world.queue.jobs[: world.queue.size[0]]:
        live.gpus[job] = share_now(plans, job)
        if live.end[job] != world.old_end[job]:
            live.event[job] = live.end[job]
        if live.phase[job] == PENDING and live.gpus[job] > 0:
            start(world, job)


@compiled
def _change_before_events(world: World, plans: Plans) -> float:
    """Find the next planned change of any share, infinity unless it comes before every event."""
    wake = np.inf
    for job in world.queue.jobs[: world.queue.size[0]]:
        wake = min(wake, next_change(plans, job))
    for job in world.queue.jobs[: world.queue.size[0]]:
        if world.live.event[job] <= wake:
            return np.inf
    arrived = world.clock.arrived[0]
    if arrived < len(world.jobs.submitted) and world.jobs.submitted[arrived] <= wake:
        return np.inf
    return float(wake)
