"""The sheet on which one job is planned in full: steps of the capacity profile with the job's share beside them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tenuto.compiled import compiled
from tenuto.model.columns import Ints
from tenuto.sim.artifact.capacity import Capacity, capacity_for, copy_capacity, first_not_before, put_step
from tenuto.sim.artifact.plans import Plans


class Sheet(NamedTuple):
    """Steps of capacity while one job is planned."""

    steps: Capacity
    """GPUs free when the job has taken its share."""
    before: Ints
    """GPUs free without the job."""
    share: Ints
    """The job's GPUs."""
    extra: Ints
    """One number: the step at the deadline if it was inserted, else -1."""
    restored: Ints
    """One number: GPUs that are free from the plan's end on, unless the profile has a step there already."""


def sheet_for(jobs: int, total: int) -> Sheet:
    """Make room for the steps of a capacity profile and a deadline."""
    steps = capacity_for(jobs, total)
    ints = [np.zeros(count, dtype=np.int64) for count in (len(steps.time), len(steps.time), 1, 1)]
    return Sheet(steps, *ints)


@compiled
def copy_out(capacity: Capacity, sheet: Sheet) -> None:
    """Begin a sheet with the profile as it is."""
    copy_capacity(capacity, sheet.steps)
    open_sheet(sheet)


@compiled
def open_sheet(sheet: Sheet) -> None:
    """Begin to plan on steps that were put on the sheet."""
    for step in range(sheet.steps.size[0]):
        sheet.before[step] = sheet.steps.free[step]
        sheet.share[step] = 0
    sheet.extra[0] = -1


@compiled
def give_back(capacity: Capacity, plans: Plans, job: int, end: float, until: float, sheet: Sheet) -> None:
    """Put the profile on the sheet as it would be without the job's own plan, as far as to before a time."""
    first = plans.first[job]
    last = first + plans.size[job]
    sheet.steps.size[0] = 0
    step = 0
    for entry in range(first, last):
        begin = plans.time[entry]
        if begin >= min(end, until):
            break
        finish = min(plans.time[entry + 1], end) if entry + 1 < last else end
        step = _put_steps(capacity, step, begin, min(finish, until), plans.gpus[entry], sheet.steps)
    if end < until:
        _put_steps(capacity, step, end, until, 0, sheet.steps)


@compiled
def _put_steps(capacity: Capacity, step: int, begin: float, until: float, added: int, steps: Capacity) -> int:
    """Copy the steps from one time to before another, with so many GPUs more. Return the step behind them.

    Only the first may equal the step before it, because in the profile no neighbours are equal.
    """
    last = capacity.size[0]
    if step < last and capacity.time[step] == begin:
        step += 1
    size = put_step(steps, steps.size[0], begin, capacity.free[step - 1] + added)
    while step < last and capacity.time[step] < until:
        steps.time[size] = capacity.time[step]
        steps.free[size] = capacity.free[step] + added
        size += 1
        step += 1
    steps.size[0] = size
    return step


@compiled
def mark(sheet: Sheet, time: float) -> int:
    """Make sure that there is a step at a time, with the value before it. Return its place."""
    steps = sheet.steps
    size = steps.size[0]
    place = first_not_before(steps.time, size, time)
    if place < size and steps.time[place] == time:
        return place
    for step in range(size, place, -1):
        steps.time[step] = steps.time[step - 1]
        steps.free[step] = steps.free[step - 1]
        sheet.before[step] = sheet.before[step - 1]
        sheet.share[step] = sheet.share[step - 1]
    steps.time[place] = time
    steps.free[place] = steps.free[place - 1]
    sheet.before[place] = sheet.before[place - 1]
    sheet.share[place] = 0
    sheet.extra[0] = place
    steps.size[0] = size + 1
    return place


@compiled
def copy_in(sheet: Sheet, end: float, capacity: Capacity) -> None:
    """Make the sheet the new capacity profile, equal neighbours merged."""
    steps, restored = sheet.steps, sheet.restored[0]
    size = 0
    closed = False
    for step in range(steps.size[0]):
        time, free = steps.time[step], steps.free[step]
        if not closed and time >= end:
            closed = True
            if time > end:
                size = put_step(capacity, size, end, restored)
            elif step == sheet.extra[0]:
                free = restored
        size = put_step(capacity, size, time, free)
    if not closed:
        size = put_step(capacity, size, end, restored)
    capacity.size[0] = size
