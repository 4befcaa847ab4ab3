"""ElasticFlow's planner in full, on a sheet: for jobs that miss their deadline, and for growing jobs.

A job that no level saves takes the most it can get until its deadline, and all that fits after it until it
is done.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tenuto.compiled import compiled
from tenuto.sim.artifact.ask import Ask, Sketch
from tenuto.sim.artifact.capacity import aligned, first_not_before
from tenuto.sim.artifact.in_time import seconds_of, smallest_level
from tenuto.sim.artifact.levels import level_fitting
from tenuto.sim.artifact.sheet import EXTRA, RESTORED, SIZE, Sheet, mark


class Span(NamedTuple):
    """Where on the sheet the planner works."""

    first: int
    """The first step that is still to be planned."""
    due: int
    """The step at the deadline; 0 if the deadline is over."""


@compiled
def plan_in_full(sheet: Sheet, ask: Ask) -> Sketch:
    """Plan a job on an open sheet. It always succeeds; the end tells whether in time."""
    due = mark(sheet, ask.due) if ask.due >= ask.now else 0
    return _sketched(sheet, Span(0, due), ask, ask.left, -1)


@compiled
def plan_growth(sheet: Sheet, ask: Ask, level: int) -> Sketch:
    """Plan a job that is given a level until capacity changes for the first time."""
    steps, gpus = sheet.steps, 1 << level
    # The reference looks for the first change before it inserts the deadline.
    change = steps[1].time if sheet.marks[SIZE] > 1 else max(ask.due, ask.now)
    due = mark(sheet, ask.due) if ask.due >= ask.now else 0
    first = first_not_before(steps, sheet.marks[SIZE], change)
    for step in range(first):
        steps[step].share = gpus
    real_end = np.ceil(ask.now + ask.left / ask.rate[level])
    end = aligned(ask.now, real_end, ask.slot)
    if change >= end and ask.deadline >= real_end:
        if end != ask.now:
            steps[0].free -= gpus
        sheet.marks[RESTORED] = steps[0].before
        return _billed(sheet, end, real_end, 1)
    seconds = (ask.deadline if change == ask.due else change) - ask.now
    steps[0].free -= gpus
    return _sketched(sheet, Span(first, due), ask, ask.left - seconds * ask.rate[level], level)


@compiled
def _sketched(sheet: Sheet, span: Span, ask: Ask, todo: float, forced: int) -> Sketch:
    level, pivot = smallest_level(sheet.steps, ask, todo, span.first, span.due)
    if level >= 0:
        return _filled(sheet, span, ask, todo, level, pivot)
    todo = _taken_until_due(sheet, span, ask, todo)
    return _overrun(sheet, span, ask, todo, forced)


@compiled
def _billed(sheet: Sheet, end: float, real_end: float, count: int) -> Sketch:
    steps = sheet.steps
    bill = steps[count - 1].share * (end - steps[count - 1].time)
    for step in range(count - 1):
        bill += steps[step].share * (steps[step + 1].time - steps[step].time)
    return Sketch(end, real_end, count, bill)


@compiled
def _take(sheet: Sheet, step: int, level: int) -> None:
    sheet.steps[step].share = 1 << level
    sheet.steps[step].free -= 1 << level


@compiled
def _filled(sheet: Sheet, span: Span, ask: Ask, todo: float, level: int, pivot: int) -> Sketch:
    """Take the level from the pivot on and the next lower one before it, until the work is done."""
    steps = sheet.steps
    for step in range(span.first, span.due):
        taken = min(level if step >= pivot else level - 1, level_fitting(steps[step].free))
        if taken < 0:
            continue
        _take(sheet, step, taken)
        work = seconds_of(steps, step, span.due, ask.deadline) * ask.rate[taken]
        if step < pivot or work < todo:
            todo -= work
            continue
        return _done(sheet, span, ask, step, todo / ask.rate[taken], span.due)
    # Only rounding leads here; the reference then adds a share at the deadline.
    taken = max(min(level, level_fitting(steps[span.due].free)), 0)
    _take(sheet, span.due, taken)
    return _done(sheet, span, ask, span.due, todo / ask.rate[taken], span.due + 1)


@compiled
def _done(sheet: Sheet, span: Span, ask: Ask, step: int, seconds: float, count: int) -> Sketch:
    steps = sheet.steps
    rest = np.ceil(seconds)
    end = steps[step].time + ask.slot * np.ceil(rest / ask.slot)
    before_end = first_not_before(steps, sheet.marks[SIZE], end) - 1
    sheet.marks[RESTORED] = steps[before_end].before if before_end >= span.first else ask.total
    return _billed(sheet, end, steps[step].time + rest, count)


@compiled
def _taken_until_due(sheet: Sheet, span: Span, ask: Ask, todo: float) -> float:
    """Take the highest level until the deadline. Return the work that remains after it."""
    steps = sheet.steps
    for step in range(span.first, span.due):
        taken = min(level_fitting(steps[step].free), ask.top)
        if taken >= 0:
            _take(sheet, step, taken)
            todo -= seconds_of(steps, step, span.due, ask.deadline) * ask.rate[taken]
    return float(todo)


@compiled
def _overrun(sheet: Sheet, span: Span, ask: Ask, todo: float, forced: int) -> Sketch:
    """Take all that fits after the deadline until the work is done."""
    steps = sheet.steps
    late = ask.due < ask.now
    here = span.first if late else max(span.first, span.due)
    used = here + 1
    # If the deadline is over, the reference begins with the present step again, even for a growing job.
    for step in range(0 if late else span.due + 1, sheet.marks[SIZE]):
        taken = min(level_fitting(steps[here].free), ask.top)
        steps[here].share = 1 << taken if taken >= 0 else 0
        used = max(used, here + 1)
        if taken >= 0:
            work = (steps[step].time - steps[here].time) * ask.rate[taken]
            if work >= todo:
                return _finished_late(sheet, span, ask, here, todo / ask.rate[taken], used)
            todo -= work
            if step > here:
                steps[here].free -= 1 << taken
        here = step
    # Behind the last step the reference takes the whole cluster for free.
    taken = forced if forced >= 0 else ask.top
    steps[here].share = 1 << taken
    real_end = np.ceil(steps[here].time + todo / ask.rate[taken])
    end = aligned(ask.now, real_end, ask.slot)
    steps[here].free = ask.total if end == steps[here].time else ask.total - (1 << taken)
    sheet.marks[RESTORED] = ask.total
    return _billed(sheet, end, real_end, max(used, here + 1))


@compiled
def _finished_late(sheet: Sheet, span: Span, ask: Ask, here: int, seconds: float, used: int) -> Sketch:
    """Close a plan after the deadline; what is restored is the value of the last step before the end (Q2)."""
    steps = sheet.steps
    gpus = steps[here].share
    real_end = np.ceil(steps[here].time + seconds)
    end = aligned(ask.now, real_end, ask.slot)
    restored = steps[span.due].before
    for step in range(span.due, sheet.marks[SIZE]):
        if steps[step].time >= end:
            break
        if step != sheet.marks[EXTRA]:
            restored = steps[step].before
        if step >= here:
            steps[step].free -= gpus
    if steps[here].time != end:
        steps[here].free = restored - gpus
    sheet.marks[RESTORED] = restored
    return _billed(sheet, end, real_end, used)
