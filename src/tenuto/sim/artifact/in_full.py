"""ElasticFlow's planner in full, on a sheet of its own: for jobs that miss their deadline, and for growing jobs.

A job that no level saves takes the most it can get until its deadline, and all that fits after it until it is done.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tenuto.compiled import compiled
from tenuto.sim.artifact.ask import Ask, Sketch
from tenuto.sim.artifact.capacity import aligned, first_not_before
from tenuto.sim.artifact.in_time import seconds_of, smallest_level
from tenuto.sim.artifact.levels import level_fitting
from tenuto.sim.artifact.sheet import Sheet, mark


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
    change = steps.time[1] if steps.size[0] > 1 else max(ask.due, ask.now)
    due = mark(sheet, ask.due) if ask.due >= ask.now else 0
    first = first_not_before(steps.time, steps.size[0], change)
    for step in range(first):
        sheet.share[step] = gpus
    real_end = np.ceil(ask.now + ask.left / ask.rate[level])
    end = aligned(ask.now, real_end, ask.slot)
    if change >= end and ask.deadline >= real_end:
        if end != ask.now:
            steps.free[0] -= gpus
        sheet.restored[0] = sheet.before[0]
        return _billed(sheet, end, real_end, 1)
    seconds = (ask.deadline if change == ask.due else change) - ask.now
    steps.free[0] -= gpus
    return _sketched(sheet, Span(first, due), ask, ask.left - seconds * ask.rate[level], level)


@compiled
def _sketched(sheet: Sheet, span: Span, ask: Ask, todo: float, forced: int) -> Sketch:
    level, pivot = smallest_level(sheet.steps, ask, todo, span.first, span.due)
    if level >= 0:
        return _filled(sheet, span, ask, todo, level, pivot)
    todo = _taken_until_due(sheet, span, ask, todo)
    return _overrun(sheet, span, ask, todo, forced)


@compiled
def _billed(sheet: Sheet, end: float, real_end: float, steps: int) -> Sketch:
    time = sheet.steps.time
    bill = sheet.share[steps - 1] * (end - time[steps - 1])
    for step in range(steps - 1):
        bill += sheet.share[step] * (time[step + 1] - time[step])
    return Sketch(end, real_end, steps, bill)


@compiled
def _take(sheet: Sheet, step: int, level: int) -> None:
    sheet.share[step] = 1 << level
    sheet.steps.free[step] -= 1 << level


@compiled
def _filled(sheet: Sheet, span: Span, ask: Ask, todo: float, level: int, pivot: int) -> Sketch:
    """Take the level from the pivot on and the next lower one before it, until the work is done."""
    steps = sheet.steps
    for step in range(span.first, span.due):
        taken = min(level if step >= pivot else level - 1, level_fitting(steps.free[step]))
        if taken < 0:
            continue
        _take(sheet, step, taken)
        work = seconds_of(steps.time, step, span.due, ask.deadline) * ask.rate[taken]
        if step < pivot or work < todo:
            todo -= work
            continue
        return _done(sheet, span, ask, step, todo / ask.rate[taken], span.due)
    # Only rounding leads here; the reference then adds a share at the deadline.
    taken = max(min(level, level_fitting(steps.free[span.due])), 0)
    _take(sheet, span.due, taken)
    return _done(sheet, span, ask, span.due, todo / ask.rate[taken], span.due + 1)


@compiled
def _done(sheet: Sheet, span: Span, ask: Ask, step: int, seconds: float, steps: int) -> Sketch:
    time = sheet.steps.time
    rest = np.ceil(seconds)
    end = time[step] + ask.slot * np.ceil(rest / ask.slot)
    before_end = first_not_before(time, sheet.steps.size[0], end) - 1
    sheet.restored[0] = sheet.before[before_end] if before_end >= span.first else ask.total
    return _billed(sheet, end, time[step] + rest, steps)


@compiled
def _taken_until_due(sheet: Sheet, span: Span, ask: Ask, todo: float) -> float:
    """Take the highest level until the deadline. Return the work that remains after it."""
    steps = sheet.steps
    for step in range(span.first, span.due):
        taken = min(level_fitting(steps.free[step]), ask.top)
        if taken >= 0:
            _take(sheet, step, taken)
            todo -= seconds_of(steps.time, step, span.due, ask.deadline) * ask.rate[taken]
    return float(todo)


@compiled
def _overrun(sheet: Sheet, span: Span, ask: Ask, todo: float, forced: int) -> Sketch:
    """Take all that fits after the deadline until the work is done."""
    steps, share = sheet.steps, sheet.share
    late = ask.due < ask.now
    here = span.first if late else max(span.first, span.due)
    used = here + 1
    # If the deadline is over, the reference begins with the present step again, even for a growing job.
    for step in range(0 if late else span.due + 1, steps.size[0]):
        taken = min(level_fitting(steps.free[here]), ask.top)
        share[here] = 1 << taken if taken >= 0 else 0
        used = max(used, here + 1)
        if taken >= 0:
            work = (steps.time[step] - steps.time[here]) * ask.rate[taken]
            if work >= todo:
                return _finished_late(sheet, span, ask, here, todo / ask.rate[taken], used)
            todo -= work
            if step > here:
                steps.free[here] -= 1 << taken
        here = step
    # Behind the last step the reference takes the whole cluster for free.
    taken = forced if forced >= 0 else ask.top
    share[here] = 1 << taken
    real_end = np.ceil(steps.time[here] + todo / ask.rate[taken])
    end = aligned(ask.now, real_end, ask.slot)
    steps.free[here] = ask.total if end == steps.time[here] else ask.total - (1 << taken)
    sheet.restored[0] = ask.total
    return _billed(sheet, end, real_end, max(used, here + 1))


@compiled
def _finished_late(sheet: Sheet, span: Span, ask: Ask, here: int, seconds: float, used: int) -> Sketch:
    """Close a plan after the deadline; what is restored is the value of the last step before the end (Q2)."""
    steps = sheet.steps
    gpus = sheet.share[here]
    real_end = np.ceil(steps.time[here] + seconds)
    end = aligned(ask.now, real_end, ask.slot)
    restored = sheet.before[span.due]
    for step in range(span.due, steps.size[0]):
        if steps.time[step] >= end:
            break
        if step != sheet.extra[0]:
            restored = sheet.before[step]
        if step >= here:
            steps.free[step] -= gpus
    if steps.time[here] != end:
        steps.free[here] = restored - gpus
    sheet.restored[0] = restored
    return _billed(sheet, end, real_end, used)
