"""EDF's planner: every job wants its largest size at once and takes what earlier deadlines leave (Q9)."""

from __future__ import annotations

import numpy as np

from tenuto.compiled import compiled
from tenuto.sim.artifact.capacity import Capacity, aligned, all_free, insert_step, merge_steps
from tenuto.sim.artifact.levels import level_fitting
from tenuto.sim.artifact.state import RUNNING, Queue, Rows, Rules


@compiled
def plan_who_matters(rules: Rules, rows: Rows, lineup: Queue, capacity: Capacity, now: float) -> None:
    """Plan in order of deadlines until no GPU is free now and only jobs that never started follow.

    Those get nothing at this event, and nobody asks for their ends.
    """
    count = lineup.size[0]
    needed = count
    while needed > 0 and rows[lineup.jobs[needed - 1]].phase != RUNNING:
        needed -= 1
    all_free(capacity, now, rules.total)
    for place in range(count):
        job = lineup.jobs[place]
        if place >= needed and capacity.steps[0].free <= 0:
            rows[job].planned_gpus = 0
        else:
            _plan(rules, rows, capacity, job)


@compiled
def plan_until_late(rules: Rules, rows: Rows, lineup: Queue, capacity: Capacity, now: float) -> bool:
    """Plan in order of deadlines until a job is late. Tell whether all are in time."""
    all_free(capacity, now, rules.total)
    for place in range(lineup.size[0]):
        job = lineup.jobs[place]
        _plan(rules, rows, capacity, job)
        if rows[job].planned_end > rows[job].deadline:
            return False
    return True


@compiled
def plan_everybody(rules: Rules, rows: Rows, lineup: Queue, capacity: Capacity, now: float) -> None:
    """Plan in order of deadlines, late or not."""
    all_free(capacity, now, rules.total)
    for place in range(lineup.size[0]):
        _plan(rules, rows, capacity, lineup.jobs[place])


@compiled
def _plan(rules: Rules, rows: Rows, capacity: Capacity, job: int) -> None:
    """Plan a job and take its share out of the profile. Note its GPUs for now and its end."""
    row, steps = rows[job], capacity.steps
    rate = row.rate
    wanted = min(row.limit, level_fitting(rules.total))
    todo = row.left
    row.planned_gpus = 0
    first = -1
    for step in range(capacity.size[0] - 1):
        taken = min(wanted, level_fitting(steps[step].free))
        if taken < 0:
            continue
        if first < 0:
            first = step
        if step == 0:
            row.planned_gpus = 1 << taken
        end = np.ceil(steps[step].time + todo / rate[taken])
        if steps[step + 1].time >= end:
            row.planned_end = end
            _close(capacity, step, 1 << taken, end, rules.slot)
            merge_steps(capacity, first, step + 1)
            return
        todo -= (steps[step + 1].time - steps[step].time) * rate[taken]
        steps[step].free -= 1 << taken
    last = capacity.size[0] - 1
    if last == 0:
        row.planned_gpus = 1 << wanted
    row.planned_end = np.ceil(steps[last].time + todo / rate[wanted])
    _close_last(capacity, 1 << wanted, row.planned_end, rules)
    merge_steps(capacity, max(first, 0), capacity.size[0])


@compiled
def _close(capacity: Capacity, step: int, gpus: int, end: float, slot: float) -> None:
    """Take the share in the last step, and give it back at the end of the slot in which the job ends."""
    steps = capacity.steps
    if end == steps[step].time:
        return
    free = steps[step].free
    steps[step].free = free - gpus
    following = steps[step + 1].time
    if end == following:
        return
    back = aligned(steps[0].time, end, slot)
    if back != following:
        insert_step(capacity, step + 1, back, free)
    else:
        # A step that is there already is overwritten: what others planned there is forgotten (Q4).
        steps[step + 1].free = free


@compiled
def _close_last(capacity: Capacity, gpus: int, end: float, rules: Rules) -> None:
    """Take the share behind the last step, where the reference takes the whole cluster for free."""
    steps, last = capacity.steps, capacity.size[0] - 1
    back = aligned(steps[0].time, end, rules.slot)
    if back > steps[last].time:
        steps[last].free = rules.total - gpus
        insert_step(capacity, last + 1, back, rules.total)
    else:
        steps[last].free = rules.total
