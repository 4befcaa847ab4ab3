"""ElasticFlow without admission control, event by event as the reference handles it."""

from __future__ import annotations

import numpy as np

from tenuto.compiled import compiled
from tenuto.sim.artifact.capacity import all_free
from tenuto.sim.artifact.events import advance, arrivals, drop_due_alarms, set_alarm
from tenuto.sim.artifact.greedy import spend_left_over
from tenuto.sim.artifact.journal import log_event
from tenuto.sim.artifact.plans import Plans, empty_plans, next_change, next_start
from tenuto.sim.artifact.progress import end_jobs, work_off
from tenuto.sim.artifact.queues import append, keep_phases, sort_by
from tenuto.sim.artifact.share import (
    charge,
    follow_plans,
    place_by_size,
    plan_queue,
    release_all,
    remember_ends,
    start,
)
from tenuto.sim.artifact.state import PENDING, RUNNING
from tenuto.sim.artifact.world import World


@compiled
def run_without_admission(world: World, events: int) -> None:
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
    sort_by(queue, jobs.deadline, world.spare)
    release_all(world)
    # Judged by the end with slot and overhead, unlike with admission control (Q7).
    end_jobs(jobs, live, world.books, queue, clock, False, True)
    keep_phases(world.running, live.phase, RUNNING, RUNNING)
    remember_ends(world)
    _admit_all(world)
    plans.used[0] = 0
    all_free(world.capacity, clock.now[0], world.rules.total)
    plans, _ = plan_queue(world, plans, 0, queue.size[0], False)
    follow_plans(world, plans)
    _start_jobs(world)
    plans = spend_left_over(world, plans)
    keep_phases(world.pending, live.phase, PENDING, PENDING)
    place_by_size(world, world.running)
    log_event(world.rules, jobs, live, world.books, queue, clock, world.groups, world.journal)
    _set_alarms(world, plans)
    # An alarm at the end of a job is lost here: the overhead moves the end away.
    charge(world, world.running)
    advance(jobs, live, queue, world.alarms, clock, world.rules.slot)
    return plans


@compiled
def _admit_all(world: World) -> None:
    first, last = arrivals(world.jobs, world.clock)
    for job in range(first, last):
        world.live.phase[job] = PENDING
        append(world.queue, job)
        append(world.pending, job)
    sort_by(world.queue, world.jobs.deadline, world.spare)


@compiled
def _start_jobs(world: World) -> None:
    for job in world.pending.jobs[: world.pending.size[0]]:
        if world.live.gpus[job] > 0:
            start(world, job)


@compiled
def _set_alarms(world: World, plans: Plans) -> None:
    """Make an event for the next planned change of every job; old ones stay, even if the plan is another by now."""
    for job in world.running.jobs[: world.running.size[0]]:
        time = next_change(plans, job)
        if time < np.inf:
            set_alarm(world.alarms, time)
    for job in world.pending.jobs[: world.pending.size[0]]:
        time = next_start(plans, job)
        if time < np.inf:
            set_alarm(world.alarms, time)
