"""ElasticFlow with admission control, event by event as the reference handles it."""

from __future__ import annotations

import numpy as np

from tenuto.compiled import compiled
from tenuto.sim.artifact.capacity import all_free, copy_capacity
from tenuto.sim.artifact.elastic_plan import Stretch, follow_plans, plan_jobs, remember_ends
from tenuto.sim.artifact.events import set_alarm
from tenuto.sim.artifact.greedy import spend_left_over
from tenuto.sim.artifact.plans import Plans, next_change
from tenuto.sim.artifact.progress import start
from tenuto.sim.artifact.queues import append, keep_phases, sort_by_deadline, sort_by_size
from tenuto.sim.artifact.ranks import place_by_size
from tenuto.sim.artifact.state import DECLINED, FUTURE, PENDING, RUNNING, Roster, Rows
from tenuto.sim.artifact.world import World


def handle_elasticflow(world: World) -> None:
    """Handle the present event and move to the next."""
    rules, rows, roster = world.rules, world.rows, world.roster
    queue, spare = roster.queue, roster.spare
    world.settle(by_real_end=True)
    idle = queue.size[0] == 0
    sort_by_deadline(queue, rows, spare)
    world.release_and_end(by_real_end=True, only_holding=True)
    newcomers = world.newcomers()
    if newcomers or not idle:
        remember_ends(rows, queue)
        _admit(world, newcomers)
        follow_plans(rows, roster, world.plans)
        _start_jobs(rows, roster, world.now)
        world.plans = spend_left_over(rules, rows, roster, world.desk, world.plans, world.now)
        sort_by_size(queue, rows, spare)
        place_by_size(rules, rows, queue, world.groups)
        world.write_log()
        # Set before the overhead is added to the ends, so it is the next event for sure.
        _wake_for_change(rows, roster, world.plans, world.arrived)
        world.charge(queue)
    world.advance()


def _admit(world: World, newcomers: range) -> None:
    """Plan all jobs with the newcomers; if any job is late, decline every newcomer that has a deadline (Q6).

    What was planned before the first of those is the same without them, so it is not planned again.
    """
    rows, queue = world.rows, world.roster.queue
    _line_up(rows, world.roster, newcomers.start, newcomers.stop)
    count = int(queue.size[0])
    all_free(world.desk.capacity, world.now, world.rules.total)
    world.plans.used[0] = 0
    candidate = _first_candidate(rows, world.roster)
    late = _plan(world, 0, candidate, until_late=candidate < count)
    if late < candidate:
        _decline(world, newcomers)
        _plan(world, late + 1, int(queue.size[0]))
    elif candidate < count:
        copy_capacity(world.desk.capacity, world.saved)
        if _plan(world, candidate, count, until_late=True) < count:
            copy_capacity(world.saved, world.desk.capacity)
            _decline(world, newcomers)
            _plan(world, candidate, int(queue.size[0]))
    for job in newcomers:
        row = rows[job]
        if row["phase"] == FUTURE:
            row["phase"] = PENDING
            row["promised"] = np.nan if row["best_effort"] else row["real_end"]


def _plan(world: World, first: int, last: int, *, until_late: bool = False) -> int:
    """Plan the queue from one place to another. Return the place of the first late job, or the last place."""
    stretch = Stretch(first, last, until_late)
    world.plans, reached = plan_jobs(
        world.rules, world.rows, world.roster.queue, stretch, world.desk, world.plans, world.now
    )
    return reached


def _decline(world: World, newcomers: range) -> None:
    for job in newcomers:
        if not world.rows[job]["best_effort"]:
            world.rows[job]["phase"] = DECLINED
            world.done += 1
    keep_phases(world.roster.queue, world.rows, FUTURE, RUNNING)


@compiled
def _line_up(rows: Rows, roster: Roster, first: int, last: int) -> None:
    """Sort newcomers into the queue by their deadlines."""
    for job in range(first, last):
        append(roster.queue, job)
    sort_by_deadline(roster.queue, rows, roster.spare)


@compiled
def _first_candidate(rows: Rows, roster: Roster) -> int:
    """Find the first newcomer in the queue that may be declined; behind the end if there is none."""
    for place in range(roster.queue.size[0]):
        row = rows[roster.queue.jobs[place]]
        if row.phase == FUTURE and not row.best_effort:
            return place
    return int(roster.queue.size[0])


@compiled
def _start_jobs(rows: Rows, roster: Roster, now: float) -> None:
    for job in roster.queue.jobs[: roster.queue.size[0]]:
        if rows[job].phase == PENDING and rows[job].gpus > 0:
            start(rows, roster, job, now)


@compiled
def _wake_for_change(rows: Rows, roster: Roster, plans: Plans, arrived: int) -> None:
    """Set an alarm for the next planned change of any share, if it comes before every event."""
    wake, event = np.inf, np.inf
    for job in roster.queue.jobs[: roster.queue.size[0]]:
        wake = min(wake, next_change(plans, rows, job))
        event = min(event, rows[job].event)
    if arrived < len(rows):
        event = min(event, rows[arrived].submitted)
    if wake < event:
        set_alarm(roster.alarms, wake)
