"""The sheet on which one job is planned without touching the capacity profile."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tenuto.compiled import compiled
from tenuto.model.columns import Ints
from tenuto.sim.artifact.capacity import Capacity, capacity_for, copy_steps, first_not_before, put_step
from tenuto.sim.artifact.plans import Plans
from tenuto.sim.artifact.state import Rows

SIZE, EXTRA, RESTORED = range(3)


class Sheet(NamedTuple):
    """Steps of the profile; `free` is what the job leaves, `before` what it finds."""

    steps: Rows
    """A table of type STEP."""
    marks: Ints
    """SIZE: how many steps are in use. EXTRA: the step at the deadline if it was inserted, else -1.
    RESTORED: GPUs that are free from the plan's end on, unless the profile has a step there already."""


def sheet_for(jobs: int, total: int) -> Sheet:
    """Make room for the steps of a capacity profile and a deadline."""
    return Sheet(capacity_for(jobs, total).steps, np.zeros(3, dtype=np.int64))


@compiled
def copy_out(capacity: Capacity, sheet: Sheet) -> None:
    """Begin a sheet with the profile as it is."""
    copy_steps(capacity.steps, sheet.steps, capacity.size[0])
    sheet.marks[SIZE] = capacity.size[0]
    open_sheet(sheet)


@compiled
def open_sheet(sheet: Sheet) -> None:
    """Begin to plan on steps that were put on the sheet."""
    steps = sheet.steps
    for step in range(sheet.marks[SIZE]):
        steps[step].before = steps[step].free
        steps[step].share = 0
    sheet.marks[EXTRA] = -1


@compiled
def give_back(capacity: Capacity, plans: Plans, rows: Rows, job: int, until: float, sheet: Sheet) -> int:
    """Put the profile on the sheet as it would be without the job's own plan, as far as to before a time.

    Return the number of steps.
    """
    own, end = plans.steps, rows[job].end
    last = rows[job].plan_end
    steps, count = capacity.steps, capacity.size[0]
    step, size = 0, 0
    for entry in range(rows[job].plan, last):
        begin = own[entry].time
        if begin >= min(end, until):
            break
        finish = min(own[entry + 1].time, end) if entry + 1 < last else end
        step, size = _raised(
            steps, count, step, begin, min(finish, until), own[entry].gpus, sheet.steps, size
        )
    if end < until:
        step, size = _raised(steps, count, step, end, until, 0, sheet.steps, size)
    sheet.marks[SIZE] = size
    return size


@compiled
def _raised(
    source: Rows, count: int, step: int, begin: float, until: float, added: int, target: Rows, size: int
) -> tuple[int, int]:
    """Copy the steps from one time to before another with so many GPUs more. Return both tables' next steps.

    Only the first may equal the step before it, because in the profile no neighbours are equal.
    """
    if step < count and source[step].time == begin:
        step += 1
    size = put_step(target, size, begin, source[step - 1].free + added)
    while step < count and source[step].time < until:
        target[size].time = source[step].time
        target[size].free = source[step].free + added
        size += 1
        step += 1
    return step, size


@compiled
def mark(sheet: Sheet, time: float) -> int:
    """Make sure that there is a step at a time, with the value before it. Return its place."""
    steps, size = sheet.steps, sheet.marks[SIZE]
    place = first_not_before(steps, size, time)
    if place < size and steps[place].time == time:
        return place
    for step in range(size, place, -1):
        steps[step].time = steps[step - 1].time
        steps[step].free = steps[step - 1].free
        steps[step].before = steps[step - 1].before
        steps[step].share = steps[step - 1].share
    steps[place].time = time
    steps[place].free = steps[place - 1].free
    steps[place].before = steps[place - 1].before
    steps[place].share = 0
    sheet.marks[EXTRA] = place
    sheet.marks[SIZE] = size + 1
    return place


@compiled
def copy_in(sheet: Sheet, end: float, capacity: Capacity) -> None:
    """Make the sheet the new capacity profile, equal neighbours merged."""
    steps, target = sheet.steps, capacity.steps
    extra, restored = sheet.marks[EXTRA], sheet.marks[RESTORED]
    size = 0
    closed = False
    for step in range(sheet.marks[SIZE]):
        time, free = steps[step].time, steps[step].free
        if not closed and time >= end:
            closed = True
            if time > end:
                size = put_step(target, size, end, restored)
            elif step == extra:
                free = restored
        size = put_step(target, size, time, free)
    if not closed:
        size = put_step(target, size, end, restored)
    capacity.size[0] = size
