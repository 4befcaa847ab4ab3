"""When something happens: arrivals, merged within a slot; the next ends; and when a queue may have to be left."""

from __future__ import annotations

import numpy as np

from tenuto.compiled import compiled
from tenuto.sim.artifact.tiresias.queues import drop_ended, enqueue
from tenuto.sim.artifact.tiresias.state import BY_SIZE, ENDED, QUEUES, RUNNING, THRESHOLDS, Book


@compiled
def move_on(book: Book) -> None:
    """Move to the next event. Where a queue may have to be left, nothing else is looked at."""
    clock = book.clock[0]
    clock.now = min(clock.arrival, clock.end)
    if clock.now > clock.jump:
        clock.now = clock.jump
        return
    if clock.end == clock.now:
        _end_due(book)
    if clock.arrival == clock.now:
        _let_in(book)


@compiled
def _end_due(book: Book) -> None:
    clock = book.clock[0]
    for job in book.lists[BY_SIZE, : book.length[BY_SIZE]]:
        row = book.jobs[job]
        if row.due:
            row.phase = ENDED
            row.finished = row.end
            clock.ended += 1
    drop_ended(book)


@compiled
def _let_in(book: Book) -> None:
    clock, jobs = book.clock[0], book.jobs
    while clock.arrived < len(jobs) and jobs[clock.arrived].submitted <= clock.reach:
        enqueue(book, clock.arrived)
        jobs[clock.arrived].seen = jobs[clock.arrived].submitted
        clock.arrived += 1
    clock.arrival = np.inf
    if clock.arrived < len(jobs):
        clock.arrival = jobs[clock.arrived].submitted
        clock.reach = clock.arrival


@compiled
def merge_arrivals(book: Book) -> None:
    """Put arrivals within one slot off to its end, unless they are the last."""
    clock = book.clock[0]
    if clock.arrival == np.inf or book.jobs[len(book.jobs) - 1].submitted <= clock.reach:
        return
    if int(clock.arrival - clock.now) <= clock.slot:
        clock.arrival = clock.now + clock.slot
        clock.reach = max(clock.reach, clock.arrival)


@compiled
def foresee_ends(book: Book, restart: bool) -> None:
    """Find the next end event, at least a slot away, and who ends then.

    On a restart round everybody pays. What a start costs is not foreseen: a job pays for it only if something
    happens before its end.
    """
    clock = book.clock[0]
    earliest = np.inf
    for job in book.lists[BY_SIZE, : book.length[BY_SIZE]]:
        row = book.jobs[job]
        if row.phase == RUNNING:
            left = row.duration - row.executed
            if restart:
                row.overhead = row.price[1]
                left += row.overhead
            row.end = float(int(clock.now + left))
            earliest = min(earliest, row.end)
    clock.end = max(clock.now + clock.slot, earliest)
    latest = clock.end if clock.together else earliest
    for job in book.lists[BY_SIZE, : book.length[BY_SIZE]]:
        row = book.jobs[job]
        row.due = row.phase == RUNNING and row.end <= latest


@compiled
def foresee_jump(book: Book) -> None:
    """Guess when the next job leaves its queue, at least a slot away.

    The guess takes seconds for GPU-seconds, and so comes too late for jobs of several GPUs (Q15).
    """
    clock = book.clock[0]
    jump = np.inf
    for job in book.lists[BY_SIZE, : book.length[BY_SIZE]]:
        row = book.jobs[job]
        if row.phase == RUNNING and row.queue < QUEUES - 1:
            missing = np.ceil((THRESHOLDS[row.queue] - row.executed) / row.gpus)
            jump = min(jump, float(int(clock.now + missing)))
    clock.jump = max(jump, clock.now + clock.slot)
