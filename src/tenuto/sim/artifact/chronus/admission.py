"""Admission: a newcomer is promised its leases if it can be packed with the others that came in the same step."""

from __future__ import annotations

import numpy as np

from tenuto.compiled import compiled
from tenuto.sim.artifact.chronus.leases import goes_before, take_latest
from tenuto.sim.artifact.chronus.state import (
    ARRIVED,
    BEHIND,
    HORIZON,
    INDEX,
    LEASE,
    NOW,
    PENDING,
    PROMISED,
    Book,
    Rows,
)


@compiled
def admit(rows: Rows, book: Book, total: int) -> None:
    """Judge the jobs that came since the previous lease, one by one, and let all of them wait."""
    counts, packed = book.counts, 0
    last = counts[ARRIVED]
    while last < len(rows) and rows[last].submitted <= counts[NOW]:
        last += 1
    for job in range(counts[ARRIVED], last):
        row = rows[job]
        row.last = counts[NOW]
        book.pending[counts[PENDING]] = job
        counts[PENDING] += 1
        if row.deadline == np.inf:
            continue
        if _is_promised(rows, book, job, packed, total):
            row.standing = PROMISED
            row.due = row.promised = LEASE * row.last_lease
        else:
            counts[BEHIND] = 1
            if job + 1 < last:
                _relax(rows, book, job, packed, total)
        packed += 1
    counts[ARRIVED] = last


@compiled
def _is_promised(rows: Rows, book: Book, job: int, packed: int, total: int) -> bool:
    row = rows[job]
    return bool(row.need <= row.last_lease - book.counts[INDEX]) and _fits(rows, book, job, packed, total)


@compiled
def _fits(rows: Rows, book: Book, job: int, packed: int, total: int) -> bool:
    """Put a newcomer among those of this step, in the order of packing, and try to pack all of them."""
    line, place = book.spare, packed
    for before in range(packed):
        if line[before] == job:
            place = before
    for later in range(place, packed):
        line[later] = line[later + 1]
    place = packed
    while place > 0 and goes_before(rows, job, line[place - 1]):
        line[place] = line[place - 1]
        place -= 1
    line[place] = job
    return _pack(rows, book, packed + 1, total)


@compiled
def _pack(rows: Rows, book: Book, count: int, total: int) -> bool:
    """Tell whether all newcomers find their leases beside what is planned."""
    index = book.counts[INDEX]
    limit = index
    for job in book.spare[:count]:
        limit = max(limit, rows[job].last_lease)
    room = np.full(limit - index, total, np.int64)
    known = min(limit, len(book.room))
    for lease in range(index, known):
        room[lease - index] = book.room[lease]
    missing = 0
    for job in book.spare[:count]:
        missing += take_latest(rows[job], room, index)
        if missing > 0:
            break
    return missing == 0


@compiled
def _relax(rows: Rows, book: Book, job: int, packed: int, total: int) -> None:
    """Give a job that was refused the earliest deadline that it could hold, and keep it in the line (Q18)."""
    row, index = rows[job], book.counts[INDEX]
    low = max(row.last_lease, index + row.need)
    high = max(low, book.counts[HORIZON])
    for other in book.spare[:packed]:
        high = max(high, rows[other].last_lease)
    high += row.need + 1
    while low < high:
        row.last_lease = (low + high) // 2
        if _fits(rows, book, job, packed, total):
            high = row.last_lease
        else:
            low = row.last_lease + 1
    row.last_lease = low
    _fits(rows, book, job, packed, total)
