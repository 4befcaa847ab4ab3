"""ElasticFlow with admission control, event by event as the reference handles it."""

from __future__ import annotations

import numpy as np

from tenuto.compiled import compiled
from tenuto.sim.artifact.capacity import all_free, copy_capacity
from tenuto.sim.artifact.events import advance, arrivals, drop_due_alarms, set_alarm
from tenuto.sim.artifact.greedy import spend_left_over
from tenuto.sim.artifact.journal import log_event
from tenuto.sim.artifact.plans import Plans, empty_plans, next_change
from tenuto.sim.artifact.progress import end_jobs, work_off
from tenuto.sim.artifact.queues import append, keep_phases, sort_by
from tenuto.sim.artifact.share import (
    charge,
    follow_plans,
    place_by_size,
    plan_queue,
    release_all,
    remember_ends,
    sort_by_size,
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
    drop_due_alarms(world.alarms, clock.reach[0])
    idle = queue.size[0] == 0
    sort_by(queue, jobs.deadline, world.spare)
    release_all(world)
    end_jobs(jobs, live, world.books, queue, clock, True, True)
    first, last = arrivals(jobs, clock)
    if not (idle and first == last):
        remember_ends(world)
        plans.used[0] = 0
        plans = _admit(world, plans, first, last)
        follow_plans(world, plans)
        _start_jobs(world)
        plans = spend_left_over(world, plans)
        sort_by_size(world, queue)
        place_by_size(world, queue)
        log_event(world.rules, jobs, live, world.books, queue, clock, world.groups, world.journal)
        # Set before the overhead is added to the ends, so it is the next event for sure.
        _wake_for_change(world, plans)
        charge(world, queue)
    advance(jobs, live, queue, world.alarms, clock, world.rules.slot)
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
def _start_jobs(world: World) -> None:
    for job in world.queue.jobs[: world.queue.size[0]]:
        if world.live.phase[job] == PENDING and world.live.gpus[job] > 0:
            start(world, job)


@compiled
def _wake_for_change(world: World, plans: Plans) -> None:
    """Set an alarm for the next planned change of any share, if it comes before every event."""
    live, queue = world.live, world.queue
    wake, event = np.inf, np.inf
    for job in queue.jobs[: queue.size[0]]:
        wake = min(wake, next_change(plans, job))
        event = min(event, live.event[job])
    arrived = world.clock.arrived[0]
    if arrived < len(world.jobs.submitted):
        event = min(event, world.jobs.submitted[arrived])
    if wake < event:
        set_alarm(world.alarms, wake)
