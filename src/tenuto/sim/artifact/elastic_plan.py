"""ElasticFlow's plans for all jobs: one after the other by deadline, each on what the others left."""

from __future__ import annotations

from typing import NamedTuple

from tenuto.compiled import compiled
from tenuto.sim.artifact.ask import ask_for
from tenuto.sim.artifact.capacity import Capacity, capacity_for, first_not_before
from tenuto.sim.artifact.events import move_event
from tenuto.sim.artifact.in_full import plan_in_full
from tenuto.sim.artifact.in_time import shares_in_time, take_shares
from tenuto.sim.artifact.plans import Plans, record, share_now
from tenuto.sim.artifact.sheet import Sheet, copy_in, copy_out, sheet_for
from tenuto.sim.artifact.state import Queue, Roster, Rows, Rules


class Desk(NamedTuple):
    """Where plans are made: the profile of free capacity and a sheet for one job."""

    capacity: Capacity
    sheet: Sheet


class Stretch(NamedTuple):
    """Which jobs to plan: those from one place of the queue to before another, or until one is late."""

    first: int
    last: int
    until_late: bool


def desk_for(jobs: int, total: int) -> Desk:
    """Make room for the plans of so many jobs on a cluster of so many GPUs."""
    return Desk(capacity_for(jobs, total), sheet_for(jobs, total))


@compiled
def plan_jobs(
    rules: Rules, rows: Rows, queue: Queue, stretch: Stretch, desk: Desk, plans: Plans, now: float
) -> tuple[Plans, int]:
    """Plan a stretch of the queue. Return the plans and the place that was reached: that of the late job, or
    the last.
    """
    capacity, sheet = desk.capacity, desk.sheet
    for place in range(stretch.first, stretch.last):
        job = queue.jobs[place]
        ask = ask_for(rules, rows, job, now)
        due = first_not_before(capacity.steps, capacity.size[0], ask.due)
        sketch = shares_in_time(capacity.steps, ask, ask.left, 0, due)
        if sketch.end >= 0:
            plans = record(plans, rows, job, capacity.steps, sketch.steps)
            take_shares(capacity, sketch)
        else:
            copy_out(capacity, sheet)
            sketch = plan_in_full(sheet, ask)
            plans = record(plans, rows, job, sheet.steps, sketch.steps)
            copy_in(sheet, sketch.end, capacity)
        rows[job].end = sketch.end
        rows[job].real_end = sketch.real_end
        if stretch.until_late and sketch.real_end > ask.deadline:
            return plans, place
    return plans, stretch.last


@compiled
def remember_ends(rows: Rows, queue: Queue) -> None:
    """Note every job's predicted end before it is planned afresh."""
    for job in queue.jobs[: queue.size[0]]:
        rows[job].old_end = rows[job].end


@compiled
def follow_plans(rows: Rows, roster: Roster, plans: Plans) -> None:
    """Give every job what its plan says and move its end event."""
    queue = roster.queue
    for job in queue.jobs[: queue.size[0]]:
        rows[job].gpus = share_now(plans, rows, job)
        if rows[job].end != rows[job].old_end:
            move_event(rows, roster, job, rows[job].end)
