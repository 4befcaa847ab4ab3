"""Earliest deadline first without and with admission control, event by event as the reference handles it."""

from __future__ import annotations

from tenuto.compiled import compiled
from tenuto.sim.artifact.capacity import all_free
from tenuto.sim.artifact.edf_plan import plan_edf
from tenuto.sim.artifact.events import advance, arrivals
from tenuto.sim.artifact.journal import log_event
from tenuto.sim.artifact.progress import end_jobs, work_off
from tenuto.sim.artifact.queues import append, copy_queue, sort_by
from tenuto.sim.artifact.ranks import clear_groups
from tenuto.sim.artifact.share import charge, place_by_size, place_job, release_all, sort_by_size, start
from tenuto.sim.artifact.state import DECLINED, PENDING, RUNNING, Queue
from tenuto.sim.artifact.world import World


@compiled
def run_edf(world: World, events: int) -> None:
    """Handle so many events, fewer if the replay is over. Scaling costs nothing here (Q8)."""
    queue, clock = world.queue, world.clock
    for _ in range(events):
        if clock.over[0]:
            return
        _settle(world)
        first, last = arrivals(world.jobs, clock)
        for job in range(first, last):
            append(queue, job)
            world.live.phase[job] = PENDING
        if first == last:
            # Only an event without arrivals sorts the queue itself.
            sort_by(queue, world.jobs.deadline, world.spare)
        copy_queue(queue, world.lineup)
        sort_by(world.lineup, world.jobs.deadline, world.spare)
        _plan_who_matters(world)
        for job in queue.jobs[: queue.size[0]]:
            _apply(world, job)
        copy_queue(queue, world.lineup)
        sort_by_size(world, world.lineup)
        place_by_size(world, world.lineup)
        _log_and_advance(world)


@compiled
def run_edf_admission(world: World, events: int) -> None:
    """Handle so many events, fewer if the replay is over."""
    queue, clock = world.queue, world.clock
    for _ in range(events):
        if clock.over[0]:
            return
        _settle(world)
        first, last = arrivals(world.jobs, clock)
        admitted = False
        for job in range(first, last):
            admitted = _admit(world, job) or admitted
        if not admitted:
            sort_by(queue, world.jobs.deadline, world.spare)
            _plan_all(world, queue)
            _apply_to_holders(world)
        clear_groups(world.groups)
        for job in queue.jobs[: queue.size[0]]:
            if world.live.gpus[job] > 0 and not place_job(world, job):
                clock.over[0] = FRAGMENTED
                return
        _log_and_charge(world)
        advance(world.jobs, world.live, queue, world.alarms, clock, world.rules.slot)


FRAGMENTED = 2
"""How a replay ends if a job found no room: with admission control EDF places jobs in any order of sizes."""


@compiled
def _settle(world: World) -> None:
    """Account for the time since the previous event."""
    work_off(world.jobs, world.live, world.queue, world.clock, False)
    release_all(world)
    end_jobs(world.jobs, world.live, world.books, world.queue, world.clock, False, False)


@compiled
def _plan_who_matters(world: World) -> None:
    """Plan in order of deadlines until no GPU is free now and only jobs that never started follow.

    Those get nothing at this event, and nobody asks for their ends.
    """
    live, lineup = world.live, world.lineup
    count = lineup.size[0]
    needed = count
    while needed > 0 and live.phase[lineup.jobs[needed - 1]] != RUNNING:
        needed -= 1
    all_free(world.capacity, world.clock.now[0], world.rules.total)
    for place in range(count):
        job = lineup.jobs[place]
        if place >= needed and world.capacity.free[0] <= 0:
            world.planned_gpus[job] = 0
        else:
            plan_edf(world, job)


@compiled
def _plan_all(world: World, order: Queue) -> bool:
    """Plan in order until a job is late. Tell whether none is."""
    all_free(world.capacity, world.clock.now[0], world.rules.total)
    in_time = True
    for job in order.jobs[: order.size[0]]:
        plan_edf(world, job)
        in_time = in_time and world.planned_end[job] <= world.jobs.deadline[job]
    return in_time


@compiled
def _apply(world: World, job: int) -> None:
    """Give a job what was planned; one that runs keeps an end event even while it holds nothing."""
    live = world.live
    live.gpus[job] = world.planned_gpus[job]
    if live.phase[job] == PENDING and live.gpus[job] > 0:
        start(world, job)
    if live.phase[job] == RUNNING:
        live.event[job] = world.planned_end[job]
    live.end[job] = world.planned_end[job]


@compiled
def _admit(world: World, job: int) -> bool:
    """Admit a newcomer if all jobs together are in time, and let the new plan hold at once."""
    queue, lineup = world.queue, world.lineup
    append(queue, job)
    copy_queue(queue, lineup)
    sort_by(lineup, world.jobs.deadline, world.spare)
    if not _plan_all(world, lineup):
        queue.size[0] -= 1
        world.live.phase[job] = DECLINED
        world.clock.done[0] += 1
        return False
    world.live.phase[job] = PENDING
    if not world.jobs.best_effort[job]:
        world.books.promised[job] = world.planned_end[job]
    for member in queue.jobs[: queue.size[0]]:
        _apply(world, member)
    return True


@compiled
def _apply_to_holders(world: World) -> None:
    """Give jobs what was planned; one that gets nothing keeps its old end and event (Q30)."""
    for job in world.queue.jobs[: world.queue.size[0]]:
        world.live.gpus[job] = 0
        if world.planned_gpus[job] > 0:
            _apply(world, job)


@compiled
def _log_and_advance(world: World) -> None:
    jobs, live, queue, clock = world.jobs, world.live, world.queue, world.clock
    log_event(world.rules, jobs, live, world.books, queue, clock, world.groups, world.journal)
    advance(jobs, live, queue, world.alarms, clock, world.rules.slot)


@compiled
def _log_and_charge(world: World) -> None:
    log_event(
        world.rules,
        world.jobs,
        world.live,
        world.books,
        world.queue,
        world.clock,
        world.groups,
        world.journal,
    )
    charge(world, world.queue)
