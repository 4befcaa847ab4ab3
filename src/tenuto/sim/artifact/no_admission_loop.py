"""ElasticFlow without admission control, event by event as the reference handles it."""

from __future__ import annotations

import numpy as np

from tenuto.compiled import compiled
from tenuto.sim.artifact.capacity import all_free
from tenuto.sim.artifact.elastic_plan import Stretch, follow_plans, plan_jobs, remember_ends
from tenuto.sim.artifact.events import set_alarm
from tenuto.sim.artifact.greedy import spend_left_over
from tenuto.sim.artifact.plans import Plans, next_change, next_start
from tenuto.sim.artifact.progress import start
from tenuto.sim.artifact.queues import append, keep_phases, sort_by_deadline
from tenuto.sim.artifact.ranks import place_by_size
from tenuto.sim.artifact.state import PENDING, RUNNING, Roster, Rows
from tenuto.sim.artifact.world import World


def handle_no_admission(world: World) -> None:
    """Handle the present event and move to the next."""
    rules, rows, roster = world.rules, world.rows, world.roster
    queue = roster.queue
    world.settle(by_real_end=True)
    sort_by_deadline(queue, rows, roster.spare)
    # Judged by the end with slot and overhead, unlike with admission control (Q7).
    world.release_and_end(by_real_end=False, only_holding=True)
    remember_ends(rows, queue)
    newcomers = world.newcomers()
    _admit_all(rows, roster, newcomers.start, newcomers.stop)
    all_free(world.desk.capacity, world.now, rules.total)
    world.plans.used[0] = 0
    everybody = Stretch(0, int(queue.size[0]), until_late=False)
    world.plans, _ = plan_jobs(rules, rows, queue, everybody, world.desk, world.plans, world.now)
    follow_plans(rows, roster, world.plans)
    _start_jobs(rows, roster, world.now)
    world.plans = spend_left_over(rules, rows, roster, world.desk, world.plans, world.now)
    place_by_size(rules, rows, roster.running, world.groups)
    world.write_log()
    world.make_room_for_alarms()
    _set_alarms(rows, world.roster, world.plans)
    # An alarm at the end of a job is lost here: the overhead moves the end away.
    world.charge(roster.running)
    world.advance()


@compiled
def _admit_all(rows: Rows, roster: Roster, first: int, last: int) -> None:
    keep_phases(roster.running, rows, RUNNING, RUNNING)
    for job in range(first, last):
        rows[job].phase = PENDING
        append(roster.queue, job)
        append(roster.pending, job)
    sort_by_deadline(roster.queue, rows, roster.spare)


@compiled
def _start_jobs(rows: Rows, roster: Roster, now: float) -> None:
    for job in roster.pending.jobs[: roster.pending.size[0]]:
        if rows[job].gpus > 0:
            start(rows, roster, job, now)


@compiled
def _set_alarms(rows: Rows, roster: Roster, plans: Plans) -> None:
    """Make an event for the next planned change of every job; old ones stay, though plans have changed."""
    keep_phases(roster.pending, rows, PENDING, PENDING)
    for job in roster.running.jobs[: roster.running.size[0]]:
        time = next_change(plans, rows, job)
        if time < np.inf:
            set_alarm(roster.alarms, time)
    for job in roster.pending.jobs[: roster.pending.size[0]]:
        time = next_start(plans, rows, job)
        if time < np.inf:
            set_alarm(roster.alarms, time)
