"""The cluster on one axis of time: who had how many slots, and how many were in use altogether.

What was comes from events; what will be from a look ahead, whose stretches are given here. Nothing of this loads
compiled kernels, so that the past can be shown at once.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from tenuto.forecast.past import stretches_of
from tenuto.forecast.stretch import Stretch, joined
from tenuto.model.columns import Floats
from tenuto.model.event import Event
from tenuto.model.job import Job
from tenuto.model.phase import PLACED

MOST_STRETCHES = 100
"""Stretches of one job that are told: the newest of the past, the next of the future."""
KINDS = ("scaled", "phase")
"""Events that tell of a job's slots."""


@dataclass(frozen=True, slots=True)
class Window:
    """The time that is looked at, and the moment at which it is."""

    since: float
    until: float
    now: float

    def touches(self, begin: float, end: float | None) -> bool:
        """Whether something that is over at `end` (None: it is not) is seen in it."""
        return begin < self.until and (end is None or end > self.since)


def had(job: Job, events: Iterable[Event], window: Window) -> tuple[Stretch, ...]:
    """How many slots a job held when, by its events in their order; who is beside the slots of others holds none."""
    if job.spec.cpu_only:
        return ()
    over = window.now if job.ended_at is None else job.ended_at
    seen = [
        Stretch(one.begin, one.end, one.workers)
        for one in stretches_of(map(_of_slots, events), over)
        if window.touches(one.begin, one.end)
    ]
    return tuple(seen[-MOST_STRETCHES:])


def _of_slots(event: Event) -> Event:
    """The same event, if it tells of slots; of seats beside them it tells that there are none."""
    return replace(event, data={**event.data, "workers": 0}) if event.data.get("beside") else event


def will_have(stretches: Iterable[Stretch], window: Window) -> tuple[Stretch, ...]:
    """What is still ahead of stretches that were foreseen a moment ago; a move to other slots is no new one."""
    ahead = [
        replace(one, begin=max(one.begin, window.now))
        for one in stretches
        if one.end is None or one.end > window.now
    ]
    seen = joined(one for one in ahead if window.touches(one.begin, one.end))
    return tuple(seen[:MOST_STRETCHES])


def first_of_all(jobs: Iterable[Job], window: Window) -> list[Job]:
    """Live jobs in the order in which they are told where there is no room for all: who has slots comes first."""
    meant = [job for job in jobs if job.submitted_at < window.until]
    return sorted(meant, key=lambda job: (job.phase not in PLACED, job.number))


def mean_use(stretches: Sequence[Stretch], edges: Sequence[float]) -> list[float]:
    """The mean number of slots in use between each two moments; an open end lies beyond them all."""
    begin = np.array([one.begin for one in stretches], dtype=np.float64)
    end = np.array([inf if one.end is None else one.end for one in stretches], dtype=np.float64)
    slots = np.array([one.slots for one in stretches], dtype=np.float64)
    return [float(mean) for mean in np.diff(_worked(begin, end, slots, edges)) / np.diff(edges)]


def _worked(begin: Floats, end: Floats, slots: Floats, moments: Sequence[float]) -> Floats:
    """Slots times seconds up to each moment: a line with a bend wherever somebody begins or ends."""
    first, last = moments[0], moments[-1]
    begin, end = np.clip(begin, first, last), np.clip(end, first, last)
    at = np.concatenate([[first], begin, end, [last]])
    change = np.concatenate([[0.0], slots, -slots, [0.0]])
    order = np.argsort(at, kind="stable")
    at, in_use = at[order], np.cumsum(change[order])
    worked = np.concatenate([[0.0], np.cumsum(in_use[:-1] * np.diff(at))])
    found: Floats = np.interp(moments, at, worked)
    return found
