"""What it would cost a job to grow by one level, and growing it."""

from __future__ import annotations

import numpy as np

from tenuto.compiled import compiled
from tenuto.sim.artifact.ask import ask_for
from tenuto.sim.artifact.capacity import Capacity, aligned
from tenuto.sim.artifact.elastic_plan import Desk
from tenuto.sim.artifact.events import move_event
from tenuto.sim.artifact.in_full import plan_growth
from tenuto.sim.artifact.in_time import shares_in_time
from tenuto.sim.artifact.levels import level_fitting
from tenuto.sim.artifact.plans import Plans, bill, record
from tenuto.sim.artifact.progress import start
from tenuto.sim.artifact.sheet import copy_in, give_back, open_sheet
from tenuto.sim.artifact.state import PENDING, Roster, Rows, Rules


@compiled
def set_target(rows: Rows, job: int) -> None:
    """Aim at the next level; at the present one if the job may not grow."""
    row = rows[job]
    row.target = min(level_fitting(row.gpus) + 1, row.limit)


@compiled
def increase(rows: Rows, job: int) -> int:
    """Count the GPUs that the next level adds."""
    return int((1 << rows[job].target) - rows[job].gpus)


@compiled
def priority(rules: Rules, rows: Rows, job: int, free: int, desk: Desk, plans: Plans, now: float) -> float:
    """Rate the job's next level: the lowest number is served first.

    It is minus the growth of the bill per added GPU, so whoever becomes most expensive is first (Q1).
    """
    row = rows[job]
    added = increase(rows, job)
    if added == 0 or added > free:
        return np.inf
    if row.gpus == 0:
        return -np.inf
    present = bill(plans.steps, row.plan, row.plan_end, row.end)
    return float(-(_grown_bill(rules, rows, job, desk, plans, now) - present) / added)


@compiled
def _grown_bill(rules: Rules, rows: Rows, job: int, desk: Desk, plans: Plans, now: float) -> float:
    """Tell the job's GPU seconds if it got its next level now."""
    ask = ask_for(rules, rows, job, now)
    level = rows[job].target
    capacity, sheet = desk.capacity, desk.sheet
    real_end = np.ceil(now + ask.left / ask.rate[level])
    new_end = aligned(now, real_end, ask.slot)
    if ask.deadline >= real_end and _first_change(capacity, plans.steps, rows, job) >= new_end:
        return float((1 << level) * (new_end - now))
    # Most jobs can meet their deadline; then nothing behind it matters.
    size = give_back(capacity, plans, rows, job, ask.due, sheet)
    if size > 1:
        seconds = sheet.steps[1].time - now
        sketch = shares_in_time(sheet.steps, ask, ask.left - seconds * ask.rate[level], 1, size)
        if sketch.end >= 0:
            return float(sketch.bill + (1 << level) * seconds)
    give_back(capacity, plans, rows, job, np.inf, sheet)
    open_sheet(sheet)
    return plan_growth(sheet, ask, level).bill


@compiled
def _first_change(capacity: Capacity, own: Rows, rows: Rows, job: int) -> float:
    """Find when the capacity without the job's own plan changes first; infinity if it never does."""
    steps, last = capacity.steps, capacity.size[0]
    end, stop = rows[job].end, rows[job].plan_end
    entry = rows[job].plan
    free, share = steps[0].free, own[entry].gpus
    present = free + share
    step, entry = 1, entry + 1
    time = -np.inf
    while free + share == present:
        # Behind the job's own end only the profile's steps are left.
        time = np.inf if time >= end else end
        if step < last:
            time = min(time, steps[step].time)
        if entry < stop:
            time = min(time, own[entry].time)
        if time == np.inf:
            break
        if step < last and steps[step].time == time:
            free = steps[step].free
            step += 1
        if entry < stop and own[entry].time == time:
            share = own[entry].gpus
            entry += 1
        if time >= end:
            share, entry = 0, stop
    return time


@compiled
def grow(rules: Rules, rows: Rows, roster: Roster, job: int, desk: Desk, plans: Plans, now: float) -> Plans:
    """Give the job its next level."""
    row, sheet = rows[job], desk.sheet
    level = row.target
    give_back(desk.capacity, plans, rows, job, np.inf, sheet)
    open_sheet(sheet)
    sketch = plan_growth(sheet, ask_for(rules, rows, job, now), level)
    plans = record(plans, rows, job, sheet.steps, sketch.steps)
    copy_in(sheet, sketch.end, desk.capacity)
    row.end = sketch.end
    if rules.refresh:
        row.real_end = sketch.real_end
    row.gpus = 1 << level
    set_target(rows, job)
    move_event(rows, roster, job, sketch.end)
    if row.phase == PENDING:
        start(rows, roster, job, now)
    return plans
