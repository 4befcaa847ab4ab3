"""The clock: end events of jobs, planned changes, the next event, and the merging of events within one slot."""

from __future__ import annotations

import numpy as np

from tenuto.compiled import compiled
from tenuto.sim.artifact.state import Alarms, Roster, Rows

_WITHOUT_EVENTS = 10.0
"""Seconds to the next event where jobs remain, but no event."""


@compiled
def set_alarm(alarms: Alarms, time: float) -> None:
    """Make an event for a planned change, unless there is one already."""
    size = alarms.size[0]
    place = _first_alarm(alarms, time)
    if place < size and alarms.time[place] == time:
        return
    for later in range(size, place, -1):
        alarms.time[later] = alarms.time[later - 1]
    alarms.time[place] = time
    alarms.size[0] = size + 1


@compiled
def _first_alarm(alarms: Alarms, time: float) -> int:
    """Find the first alarm that is not before a time."""
    low, high = 0, int(alarms.size[0])
    while low < high:
        middle = (low + high) // 2
        if alarms.time[middle] < time:
            low = middle + 1
        else:
            high = middle
    return low


@compiled
def drop_due_alarms(alarms: Alarms, reach: float) -> None:
    """Forget the alarms that the present event handles."""
    due = 0
    while due < alarms.size[0] and alarms.time[due] <= reach:
        due += 1
    if due > 0:
        _drop_alarms(alarms, 0, due)


@compiled
def _drop_alarms(alarms: Alarms, first: int, last: int) -> None:
    for later in range(last, alarms.size[0]):
        alarms.time[first + later - last] = alarms.time[later]
    alarms.size[0] -= last - first


@compiled
def move_event(rows: Rows, roster: Roster, job: int, time: float) -> None:
    """Move a job's end event. An alarm at the old time vanishes with it if nothing else happens then."""
    old = rows[job].event
    rows[job].event = time
    alarms, queue = roster.alarms, roster.queue
    place = _first_alarm(alarms, old)
    if old == time or place == alarms.size[0] or alarms.time[place] != old:
        return
    for other in queue.jobs[: queue.size[0]]:
        if rows[other].event == old:
            return
    if not _is_submission(rows, old):
        _drop_alarms(alarms, place, place + 1)


@compiled
def _is_submission(rows: Rows, time: float) -> bool:
    low, high = 0, len(rows)
    while low < high:
        middle = (low + high) // 2
        if rows[middle].submitted < time:
            low = middle + 1
        else:
            high = middle
    return low < len(rows) and rows[low].submitted == time


@compiled
def next_event(rows: Rows, roster: Roster, arrived: int, now: float, slot: float) -> tuple[float, float]:
    """Find the next event: an end, a submission or an alarm. Return its time and how far it reaches.

    Whatever falls within one slot is merged and delayed to the slot's end (Q23), unless it is the only event
    left. Events up to the reach belong to it. If nothing is left, both are infinity.
    """
    first, last = np.inf, -np.inf
    if roster.alarms.size[0] > 0:
        first, last = roster.alarms.time[0], roster.alarms.time[roster.alarms.size[0] - 1]
    queue = roster.queue
    for job in queue.jobs[: queue.size[0]]:
        if rows[job].event < np.inf:
            first = min(first, rows[job].event)
            last = max(last, rows[job].event)
    if arrived < len(rows):
        first = min(first, rows[arrived].submitted)
        last = max(last, rows[len(rows) - 1].submitted)
    if first == np.inf:
        time = now + _WITHOUT_EVENTS if queue.size[0] > 0 else np.inf
        return time, time
    if int(first - now) <= slot and last > first:
        return now + slot, max(first, now + slot)
    return first, first


@compiled
def arrivals(rows: Rows, arrived: int, reach: float) -> int:
    """Count on the submissions that are due. Return the first job that is not."""
    while arrived < len(rows) and rows[arrived].submitted <= reach:
        arrived += 1
    return arrived
