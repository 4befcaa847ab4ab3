"""The clock: end events of jobs, planned changes, the next event, and the merging of all events within one slot."""

from __future__ import annotations

import numpy as np

from tenuto.compiled import compiled
from tenuto.sim.artifact.state import Alarms, Clock, Jobs, Live, Queue

_WITHOUT_EVENTS = 10.0
"""Seconds to the next event where jobs remain, but no event."""


@compiled
def set_alarm(alarms: Alarms, time: float) -> None:
    """Make an event for a planned change, unless there is one already."""
    size = alarms.size[0]
    place = int(np.searchsorted(alarms.time[:size], time))
    if place < size and alarms.time[place] == time:
        return
    for later in range(size, place, -1):
        alarms.time[later] = alarms.time[later - 1]
    alarms.time[place] = time
    alarms.size[0] = size + 1


@compiled
def drop_alarms(alarms: Alarms, first: int, last: int) -> None:
    """Forget the alarms from one place to before another."""
    for later in range(last, alarms.size[0]):
        alarms.time[first + later - last] = alarms.time[later]
    alarms.size[0] -= last - first


@compiled
def drop_due_alarms(alarms: Alarms, reach: float) -> None:
    """Forget the alarms that the present event handles."""
    due = 0
    while due < alarms.size[0] and alarms.time[due] <= reach:
        due += 1
    if due > 0:
        drop_alarms(alarms, 0, due)


@compiled
def move_event(jobs: Jobs, live: Live, queue: Queue, alarms: Alarms, job: int, time: float) -> None:
    """Move a job's end event. An alarm at the old time vanishes with it if nothing else happens then."""
    old = live.event[job]
    live.event[job] = time
    size = alarms.size[0]
    place = int(np.searchsorted(alarms.time[:size], old))
    if old == time or place == size or alarms.time[place] != old:
        return
    for other in queue.jobs[: queue.size[0]]:
        if live.event[other] == old:
            return
    submission = int(np.searchsorted(jobs.submitted, old))
    if submission < len(jobs.submitted) and jobs.submitted[submission] == old:
        return
    drop_alarms(alarms, place, place + 1)


@compiled
def advance(jobs: Jobs, live: Live, queue: Queue, alarms: Alarms, clock: Clock, slot: float) -> None:
    """Move the clock to the next event: an end, a submission or an alarm.

    Whatever falls within one slot is merged and delayed to the slot's end (Q23), unless it is the only event left.
    """
    now = clock.now[0]
    first, last = np.inf, -np.inf
    if alarms.size[0] > 0:
        first, last = alarms.time[0], alarms.time[alarms.size[0] - 1]
    for job in queue.jobs[: queue.size[0]]:
        if live.event[job] < np.inf:
            first = min(first, live.event[job])
            last = max(last, live.event[job])
    arrived = clock.arrived[0]
    if arrived < len(jobs.submitted):
        first = min(first, jobs.submitted[arrived])
        last = max(last, jobs.submitted[-1])
    if first == np.inf:
        clock.over[0] = queue.size[0] == 0
        first = last = now + _WITHOUT_EVENTS
    when = first
    clock.reach[0] = first
    if int(first - now) <= slot and last > first:
        when = now + slot
        clock.reach[0] = max(first, when)
    clock.elapsed[0] = int(when - now)
    clock.now[0] = when


@compiled
def arrivals(jobs: Jobs, clock: Clock) -> tuple[int, int]:
    """Take all submissions that are due. Return the first job and the one behind the last."""
    first = int(clock.arrived[0])
    end = first
    while end < len(jobs.submitted) and jobs.submitted[end] <= clock.reach[0]:
        end += 1
    clock.arrived[0] = end
    return first, end
