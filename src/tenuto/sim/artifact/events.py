"""The clock: the next event, and the merging of all events within one slot into a delayed one."""

from __future__ import annotations

import numpy as np

from tenuto.compiled import compiled
from tenuto.sim.artifact.state import Clock, Jobs, Live, Queue


@compiled
def advance(jobs: Jobs, live: Live, queue: Queue, clock: Clock, slot: float, wake: float, last_wake: float) -> None:
    """Move the clock to the next event: an end, a submission, or the policy's own events from `wake` to `last_wake`.

    Whatever falls within one slot is merged and delayed to the slot's end (Q23), unless it is the only event left.
    """
    now = clock.now[0]
    first, last = wake, last_wake if wake < np.inf else -np.inf
    for job in queue.jobs[: queue.size[0]]:
        if live.event[job] < np.inf:
            first = min(first, live.event[job])
            last = max(last, live.event[job])
    arrived = clock.arrived[0]
    if arrived < len(jobs.submitted):
        first = min(first, jobs.submitted[arrived])
        last = max(last, jobs.submitted[-1])
    if first == np.inf:
        clock.over[0] = 1
        return
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
