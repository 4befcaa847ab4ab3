"""ElasticFlow's plans for all jobs: one after the other in order of deadlines, each on what the others left."""

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


def desk_for(jobs: int, total: int) -> Desk:
    """Make room for the plans of so many jobs on a cluster of so many GPUs."""
    return Desk(capacity_for(jobs, total), sheet_for(jobs, total))


@compiled
def plan_jobs(
    rules: Rules,
    rows: Rows,
    queue: Queue,
    first: int,
    last: int,
    until_late: bool,
    desk: Desk,
    plans: Plans,
    now: float,
) -> tuple[Plans, int]:
    """Plan the jobs of a queue from one place to another; stop behind the first that is late, if told so.

    Return the plans and the place that was reached: the last, or that of the job that is late.
    """
    capacity, sheet = desk.capacity, desk.sheet
    for place in range(first, last):
        job = queue.jobs[place]
        ask = ask_for(rules, rows, job, now)
        due = first_not_before(capacity.time, capacity.size[0], ask.due)
        sketch = shares_in_time(capacity, sheet.share, ask, ask.left, 0, due)
        if sketch.end >= 0:
            plans = record(plans, job, capacity.time, sheet.share, sketch.steps)
            take_shares(capacity, sheet.share, sketch)
        else:
            copy_out(capacity, sheet)
            sketch = plan_in_full(sheet, ask)
            plans = record(plans, job, sheet.steps.time, sheet.share, sketch.steps)
            copy_in(sheet, sketch.end, capacity)
        rows[job].end = sketch.end
        rows[job].real_end = sketch.real_end
        if until_late and sketch.real_end > ask.deadline:
            return plans, place
    return plans, last


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
        rows[job].gpus = share_now(plans, job)
        if rows[job].end != rows[job].old_end:
            move_event(rows, roster, job, rows[job].end)
