"""Free GPUs: at every lease they go to jobs without a promise, in order of urgency."""

from __future__ import annotations

from tenuto.compiled import compiled
from tenuto.sim.artifact.chronus.leases import drop_plan
from tenuto.sim.artifact.chronus.state import (
    LOST,
    NOW,
    PENDING,
    PROMISED,
    RUNNING,
    UNPROMISED,
    Book,
    Row,
    Rows,
)


@compiled
def give_away(rows: Rows, book: Book, total: int) -> None:
    """Start every job without a promise that fits, in order. Each start costs, even after a run without a break."""
    counts, free = book.counts, total
    for job in book.running[: counts[RUNNING]]:
        free -= rows[job].gpus
    _set_urgency(rows, book)
    _sort(rows, book, free > 0)
    waiting = 0
    for job in book.pending[: counts[PENDING]]:
        row = rows[job]
        if row.standing != PROMISED and row.gpus <= free:
            free -= row.gpus
            row.resumed += 1
            row.leased = False
            book.running[counts[RUNNING]] = job
            counts[RUNNING] += 1
        else:
            book.pending[waiting] = job
            waiting += 1
    counts[PENDING] = waiting


@compiled
def _set_urgency(rows: Rows, book: Book) -> None:
    """See who can no longer be in time, and how urgent everybody is."""
    now = book.counts[NOW]
    for job in book.pending[: book.counts[PENDING]]:
        row = rows[job]
        row.last = now
        if row.standing != LOST and row.due < now + row.duration - row.progress:
            row.standing = LOST
            drop_plan(rows, book, job)
        if row.standing == UNPROMISED:
            row.urgency = -(row.estimate - row.progress) * row.gpus
        else:
            row.urgency = -(row.due - now - row.estimate + row.progress) * row.gpus


@compiled
def _sort(rows: Rows, book: Book, giving: bool) -> None:
    """Sort the waiting jobs, by another rule if there is something to give; ties keep their order."""
    size, width = book.counts[PENDING], 1
    while width < size:
        for low in range(0, size - width, 2 * width):
            _merge(rows, book, low, low + width, min(low + 2 * width, size), giving)
        width *= 2


@compiled
def _merge(rows: Rows, book: Book, low: int, middle: int, high: int, giving: bool) -> None:
    jobs, spare = book.pending, book.spare
    if not _goes_before(rows[jobs[middle]], rows[jobs[middle - 1]], giving):
        return
    for place in range(low, middle):
        spare[place] = jobs[place]
    left, right = low, middle
    for place in range(low, high):
        if left >= middle:
            break
        if right < high and _goes_before(rows[jobs[right]], rows[spare[left]], giving):
            jobs[place] = jobs[right]
            right += 1
        else:
            jobs[place] = spare[left]
            left += 1


@compiled
def _goes_before(one: Row, two: Row, giving: bool) -> bool:
    """Compare two jobs: those without a promise come first, then the urgent; overdue ones first if giving."""
    if giving and one.overdue != two.overdue:
        return bool(one.overdue)
    if one.standing != two.standing:
        return bool(one.standing > two.standing)
    if one.urgency != two.urgency:
        return bool(one.urgency > two.urgency)
    if giving:
        return bool(one.submitted < two.submitted)
    return bool(one.submitted > two.submitted)
