"""Work since the previous visit: the first jobs of each set have done it, those behind wait for their turn."""

from __future__ import annotations

from tenuto.compiled import compiled
from tenuto.sim.artifact.gandiva.node_sets import give_back
from tenuto.sim.artifact.gandiva.state import NONE, Floor

_TURN = 60
"""Turns change at whole multiples of so many seconds, if somebody looks just then (Q14)."""


@compiled
def work(floor: Floor, now: float, elapsed: float) -> bool:
    """Let all sets work, change turns, drop jobs that have ended. Tell whether a set became idle."""
    changing = int(now % _TURN) == 0
    released = False
    for kind in range(len(floor.kinds)):
        row = floor.kinds[kind]
        kept = 0
        for place in range(row.sets):
            number = floor.lists[kind, place]
            seats = min(floor.sets[number].jobs, row.capacity)
            ended = _work_off(floor, number, seats, now, elapsed)
            if changing and floor.sets[number].jobs > seats:
                _change_turns(floor, number, seats)
            if ended > 0:
                _drop_ended(floor, number, ended)
            if floor.sets[number].jobs > 0:
                floor.lists[kind, kept] = number
                kept += 1
            else:
                give_back(floor, kind, number)
                released = True
        row.sets = kept
    return released


@compiled
def _work_off(floor: Floor, number: int, seats: int, now: float, elapsed: float) -> int:
    """Credit the jobs on the seats. Count those that have ended; they did so at some time since the last visit."""
    ended = 0
    job = floor.sets[number].first_job
    for _ in range(seats):
        row = floor.jobs[job]
        row.executed += max(elapsed - row.overhead, 0.0)
        row.overhead = 0.0
        if row.executed >= row.duration:
            row.finished = now - (row.executed - row.duration)
            ended += 1
        job = row.next
    return ended


@compiled
def _change_turns(floor: Floor, number: int, seats: int) -> None:
    """Send the jobs on the seats behind the others."""
    rotated = floor.sets[number]
    last_seated = rotated.first_job
    for _ in range(seats - 1):
        last_seated = floor.jobs[last_seated].next
    floor.jobs[rotated.last_job].next = rotated.first_job
    rotated.first_job = floor.jobs[last_seated].next
    rotated.last_job = last_seated
    floor.jobs[last_seated].next = NONE


@compiled
def _drop_ended(floor: Floor, number: int, ended: int) -> None:
    """Take jobs that have ended out of a set. Its use is not corrected (Q12)."""
    thinned = floor.sets[number]
    job = thinned.first_job
    thinned.first_job = NONE
    thinned.last_job = NONE
    while job != NONE:
        row = floor.jobs[job]
        if row.executed < row.duration:
            if thinned.first_job == NONE:
                thinned.first_job = job
            else:
                floor.jobs[thinned.last_job].next = job
            thinned.last_job = job
        job = row.next
    if thinned.last_job != NONE:
        floor.jobs[thinned.last_job].next = NONE
    thinned.jobs -= ended
    floor.tally[0].ended += ended
