"""Steps that both ElasticFlow loops take: plan the queue, start jobs, place and charge them."""

from __future__ import annotations

from tenuto.compiled import compiled
from tenuto.sim.artifact.capacity import aligned
from tenuto.sim.artifact.draft import adopt, copied, record
from tenuto.sim.artifact.events import move_event
from tenuto.sim.artifact.levels import level_fitting
from tenuto.sim.artifact.overhead import is_restart, overhead
from tenuto.sim.artifact.planner import Ask, planned
from tenuto.sim.artifact.plans import Plans, share_now
from tenuto.sim.artifact.queues import append, sort_by
from tenuto.sim.artifact.ranks import clear_groups, first_rank, place, release
from tenuto.sim.artifact.state import RUNNING, Queue
from tenuto.sim.artifact.world import World


@compiled
def ask_for(world: World, job: int) -> Ask:
    """Put a job's wish into words for the planner."""
    rules, jobs = world.rules, world.jobs
    now = world.clock.now[0]
    deadline = jobs.deadline[job]
    return Ask(
        now,
        rules.slot,
        rules.total,
        world.live.left[job],
        deadline,
        aligned(now, deadline, rules.slot),
        min(jobs.limit[job], level_fitting(rules.total)),
        jobs.rate[job],
    )


@compiled
def plan_queue(world: World, plans: Plans, first: int, last: int, until_late: bool) -> tuple[Plans, int]:
    """Plan the jobs of the queue from one place to another; stop behind the first that misses its deadline, if told.

    Return the plans and the place that was reached: `last`, or that of the job that is late.
    """
    live, draft, capacity = world.live, world.draft, world.capacity
    for position in range(first, last):
        job = world.queue.jobs[position]
        sketch = planned(draft, copied(capacity, draft), ask_for(world, job))
        adopt(draft, sketch, capacity)
        plans = record(plans, job, draft, sketch.entries)
        live.end[job] = sketch.end
        live.real_end[job] = sketch.real_end
        if until_late and sketch.real_end > world.jobs.deadline[job]:
            return plans, position
    return plans, last


@compiled
def start(world: World, job: int) -> None:
    """Let a waiting job run."""
    world.live.phase[job] = RUNNING
    world.books.started[job] = world.clock.now[0]
    append(world.running, job)


@compiled
def place_by_size(world: World, order: Queue) -> None:
    """Place jobs that hold GPUs: those of a node or more in the list's order, then class by class the smaller ones."""
    per_node = world.rules.per_node
    clear_groups(world.groups)
    for job in order.jobs[: order.size[0]]:
        if world.live.gpus[job] >= per_node:
            place_job(world, job)
    size = per_node // 2
    while size > 0:
        for job in order.jobs[: order.size[0]]:
            if world.live.gpus[job] == size:
                place_job(world, job)
        size //= 2


@compiled
def place_job(world: World, job: int) -> bool:
    """Place one job. Return False if no room is left for it."""
    gpus = world.live.gpus[job]
    cell = place(world.groups, world.rules.per_node, gpus)
    world.live.cell[job] = cell
    if cell < 0:
        return False
    world.live.rank[job] = first_rank(world.groups, world.rules.per_node, cell, gpus)
    return True


@compiled
def charge(world: World, payers: Queue) -> None:
    """Let every job that holds GPUs pay for this round, even if nothing changed for it (Q22)."""
    clock, live, costs = world.clock, world.live, world.costs
    restart = is_restart(clock.rounds[0], world.rules.slot)
    clock.rounds[0] += 1
    for job in payers.jobs[: payers.size[0]]:
        if live.gpus[job] > 0 and live.phase[job] == RUNNING:
            live.overhead[job] = overhead(costs, live.rank[job], live.gpus[job], restart)
            live.end[job] += live.overhead[job]
            move_event(world.jobs, live, world.queue, world.alarms, job, live.end[job])
    if restart:
        costs.seen[:] = False


@compiled
def remember_ends(world: World) -> None:
    """Note every job's predicted end before it is planned afresh."""
    for job in world.queue.jobs[: world.queue.size[0]]:
        world.old_end[job] = world.live.end[job]


@compiled
def follow_plans(world: World, plans: Plans) -> None:
    """Give every job what its plan says and move its end event."""
    live = world.live
    for job in world.queue.jobs[: world.queue.size[0]]:
        live.gpus[job] = share_now(plans, job)
        if live.end[job] != world.old_end[job]:
            move_event(world.jobs, live, world.queue, world.alarms, job, live.end[job])


@compiled
def release_all(world: World) -> None:
    """Release the jobs that end now, then the others in the order of the queue."""
    live, queue = world.live, world.queue
    reach = world.clock.reach[0]
    for ending in (True, False):
        for job in queue.jobs[: queue.size[0]]:
            if live.gpus[job] > 0 and (live.event[job] <= reach) == ending:
                release(world.groups, world.rules.per_node, live.cell[job])


@compiled
def sort_by_size(world: World, queue: Queue) -> None:
    """Sort a list of jobs, the largest first."""
    for job in queue.jobs[: queue.size[0]]:
        world.key[job] = -1.0 * world.live.gpus[job]
    sort_by(queue, world.key, world.spare)
