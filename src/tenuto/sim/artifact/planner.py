"""ElasticFlow's planner: the smallest share that meets a deadline, found by filling capacity up to it.

Work is counted backwards from the deadline at each level; at the first level that suffices the job gets that level
from the pivot on and one level less before it. A job that no level saves takes all it can get until it is done.
The order of every sum is the reference's, so that results are equal to the last bit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tenuto.compiled import compiled
from tenuto.model.columns import Floats
from tenuto.sim.artifact.capacity import aligned
from tenuto.sim.artifact.draft import Draft, Sketch, marked
from tenuto.sim.artifact.levels import LEVELS, level_fitting


class Ask(NamedTuple):
    """One job's wish."""

    now: float
    slot: float
    total: int
    """All GPUs of the cluster."""
    left: float
    """Iterations still to do."""
    deadline: float
    due: float
    """The deadline, delayed to a whole slot."""
    top: int
    """The highest level that the job and the cluster allow."""
    rate: Floats
    """Iterations per second at each level."""


class Span(NamedTuple):
    """Where on the draft the planner works."""

    first: int
    """The first step that is still to be planned."""
    due: int
    """The step at the deadline; 0 if the deadline is over."""
    size: int
    extra: int
    """The step at the deadline if it was inserted, else -1."""


@compiled
def planned(draft: Draft, size: int, ask: Ask) -> Sketch:
    """Plan a job on a draft that holds the free capacity. It always succeeds; the end tells whether in time."""
    span = _marked_deadline(draft, size, ask, ask.now)
    return _sketched(draft, span, ask, ask.left, -1)


@compiled
def planned_from(draft: Draft, size: int, ask: Ask, level: int) -> Sketch:
    """Plan a job that is given a level until capacity changes for the first time."""
    # The reference looks for the first change before it inserts the deadline.
    change = draft.time[1] if size > 1 else max(ask.due, ask.now)
    gpus = 1 << level
    span = _marked_deadline(draft, size, ask, change)
    draft.share[: span.first] = gpus
    real_end = np.ceil(ask.now + ask.left / ask.rate[level])
    end = aligned(ask.now, real_end, ask.slot)
    if change >= end and ask.deadline >= real_end:
        if end != ask.now:
            draft.free[0] -= gpus
        return Sketch(end, real_end, draft.before[0], 1, span.size, span.extra)
    length = (ask.deadline if change == ask.due else change) - ask.now
    draft.free[0] -= gpus
    return _sketched(draft, span, ask, ask.left - length * ask.rate[level], level)


@compiled
def _marked_deadline(draft: Draft, size: int, ask: Ask, start: float) -> Span:
    due, extra = 0, -1
    if ask.due >= ask.now:
        due, size, new = marked(draft, size, ask.due)
        if new:
            extra = due
    first = int(np.searchsorted(draft.time[:size], start))
    return Span(first, due, size, extra)


@compiled
def _sketched(draft: Draft, span: Span, ask: Ask, todo: float, forced: int) -> Sketch:
    level, pivot = _smallest_level(draft, span, ask, todo)
    if level >= 0:
        return _filled(draft, span, ask, todo, level, pivot)
    todo = _taken_until_due(draft, span, ask, todo)
    return _overrun(draft, span, ask, todo, forced)


@compiled
def _length(draft: Draft, span: Span, ask: Ask, step: int) -> float:
    """Measure a step before the deadline; the last one ends at the deadline itself, not at its slot."""
    end = ask.deadline if step == span.due - 1 else draft.time[step + 1]
    return float(end - draft.time[step])


@compiled
def _smallest_level(draft: Draft, span: Span, ask: Ask, todo: float) -> tuple[int, int]:
    """Count work backwards at all levels at once. Return the lowest that suffices, -1 if none, and its pivot."""
    work = np.zeros(LEVELS)
    best, pivot = -1, -1
    highest = ask.top
    for step in range(span.due - 1, span.first - 1, -1):
        fitting = min(level_fitting(draft.free[step]), ask.top)
        if fitting < 0:
            continue
        length = _length(draft, span, ask, step)
        for level in range(highest + 1):
            work[level] += length * ask.rate[min(level, fitting)]
            if work[level] >= todo:
                best, pivot = level, step
                highest = level - 1
                break
        if highest < 0:
            break
    return best, pivot


@compiled
def _filled(draft: Draft, span: Span, ask: Ask, todo: float, level: int, pivot: int) -> Sketch:
    """Take the level from the pivot on and the next lower one before it, until the work is done."""
    for step in range(span.first, span.due):
        taken = min(level if step >= pivot else level - 1, level_fitting(draft.free[step]))
        if taken < 0:
            continue
        _take(draft, step, taken)
        work = _length(draft, span, ask, step) * ask.rate[taken]
        if step < pivot or work < todo:
            todo -= work
            continue
        return _done(draft, span, ask, step, todo / ask.rate[taken], span.due)
    # Only rounding leads here; the reference then adds a share at the deadline.
    taken = max(min(level, level_fitting(draft.free[span.due])), 0)
    _take(draft, span.due, taken)
    return _done(draft, span, ask, span.due, todo / ask.rate[taken], span.due + 1)


@compiled
def _take(draft: Draft, step: int, level: int) -> None:
    draft.share[step] = 1 << level
    draft.free[step] -= 1 << level


@compiled
def _done(draft: Draft, span: Span, ask: Ask, step: int, seconds: float, entries: int) -> Sketch:
    rest = np.ceil(seconds)
    end = draft.time[step] + ask.slot * np.ceil(rest / ask.slot)
    before_end = int(np.searchsorted(draft.time[: span.size], end)) - 1
    restored = draft.before[before_end] if before_end >= span.first else ask.total
    return Sketch(end, draft.time[step] + rest, restored, entries, span.size, span.extra)


@compiled
def _taken_until_due(draft: Draft, span: Span, ask: Ask, todo: float) -> float:
    """Take the highest level until the deadline. Return the work that remains after it."""
    for step in range(span.first, span.due):
        taken = min(level_fitting(draft.free[step]), ask.top)
        if taken >= 0:
            _take(draft, step, taken)
            todo -= _length(draft, span, ask, step) * ask.rate[taken]
    return float(todo)


@compiled
def _overrun(draft: Draft, span: Span, ask: Ask, todo: float, forced: int) -> Sketch:
    """Take all that fits after the deadline until the work is done."""
    late = ask.due < ask.now
    here = span.first if late else max(span.first, span.due)
    entries = max(here + 1, span.due)
    for step in range(0 if late else span.due + 1, span.size):
        taken = min(level_fitting(draft.free[here]), ask.top)
        draft.share[here] = 1 << taken if taken >= 0 else 0
        entries = max(entries, here + 1)
        if taken >= 0:
            work = (draft.time[step] - draft.time[here]) * ask.rate[taken]
            if work >= todo:
                return _finished_late(draft, span, ask, here, todo / ask.rate[taken], entries)
            todo -= work
            if step > here:
                draft.free[here] -= 1 << taken
        here = step
    # Behind the last step the reference takes the whole cluster for free.
    taken = forced if forced >= 0 else ask.top
    draft.share[here] = 1 << taken
    real_end = np.ceil(draft.time[here] + todo / ask.rate[taken])
    end = aligned(ask.now, real_end, ask.slot)
    draft.free[here] = ask.total if end == draft.time[here] else ask.total - (1 << taken)
    return Sketch(end, real_end, ask.total, max(entries, here + 1), span.size, span.extra)


@compiled
def _finished_late(draft: Draft, span: Span, ask: Ask, here: int, seconds: float, entries: int) -> Sketch:
    """Close a plan after the deadline; what is restored is the value of the last step before the end (Q2)."""
    gpus = draft.share[here]
    real_end = np.ceil(draft.time[here] + seconds)
    end = aligned(ask.now, real_end, ask.slot)
    restored = draft.before[span.due]
    for step in range(span.due, span.size):
        if draft.time[step] >= end:
            break
        if step != span.extra:
            restored = draft.before[step]
        if step >= here:
            draft.free[step] -= gpus
    if draft.time[here] != end:
        draft.free[here] = restored - gpus
    return Sketch(end, real_end, restored, entries, span.size, span.extra)
