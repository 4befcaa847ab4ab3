"""The book of reservations while a round works on it: carried over, trimmed, extended, written anew."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tenuto.compiled import compiled
from tenuto.model.columns import Floats, Ints
from tenuto.policy.free import Free, all_free
from tenuto.policy.share import NOTHING, Runner, Segments, Terms, follow, level_of

ROUNDING = 1e-6
"""Seconds that a job may seem to be behind its reservation through rounding alone."""


class Jobs(NamedTuple):
    """The columns of a snapshot that planning needs; `held` are levels here, `todo` includes the margin."""

    number: Ints
    deadline: Floats
    todo: Floats
    held: Ints
    ready: Floats
    changed: Floats
    rate: Floats
    useful: Floats


class Book(NamedTuple):
    """Segments of each row's reservation: `parts[i]` of them from `offset[i]` on; none without a promise.

    `used` entries of the pool `at`, `size` are taken. Kernels that write may outgrow it: callers go on with
    the book they get back.
    """

    offset: Ints
    parts: Ints
    end: Floats
    at: Floats
    size: Ints
    used: int


@compiled
def runner(jobs: Jobs, i: int) -> Runner:
    """One row as a runner."""
    return Runner(jobs.todo[i], jobs.held[i], jobs.ready[i], jobs.rate[i], jobs.useful[i])


@compiled
def empty_book(rows: int) -> Book:
    """Nothing is promised."""
    return Book(
        np.zeros(rows, dtype=np.int64),
        np.zeros(rows, dtype=np.int64),
        np.zeros(rows, dtype=np.float64),
        np.empty(4 * rows + 64, dtype=np.float64),
        np.empty(4 * rows + 64, dtype=np.int64),
        0,
    )


@compiled
def write(book: Book, i: int, at: Floats, size: Ints, end: float) -> Book:
    """Enter a row's reservation, replacing what it had."""
    at_pool, size_pool = book.at, book.size
    need = book.used + len(at)
    if need > len(at_pool):
        at_pool = np.concatenate((at_pool, np.empty(need + 64, dtype=np.float64)))
        size_pool = np.concatenate((size_pool, np.empty(need + 64, dtype=np.int64)))
    at_pool[book.used : need] = at
    size_pool[book.used : need] = size
    book.offset[i] = book.used
    book.parts[i] = len(at)
    book.end[i] = end
    return Book(book.offset, book.parts, book.end, at_pool, size_pool, need)


@compiled
def segments_of(book: Book, i: int) -> Segments:
    """A row's segments."""
    first, last = book.offset[i], book.offset[i] + book.parts[i]
    return Segments(book.at[first:last], book.size[first:last])


@compiled
def owed_now(book: Book, i: int) -> int:
    """Slots that a row's reservation gives it at the present moment."""
    return int(book.size[book.offset[i]]) if book.parts[i] > 0 else 0


@compiled
def surely_done(now: float, job: Runner, terms: Terms, at: Floats, size: Ints) -> float:
    """When a job is done at the latest, whenever it is called back to its reservation.

    As long as it still pays for its last change, being called back later is worse than now; afterwards it
    only gets better. Just before a segment is the worst moment of all if the segment has the size that the
    job had: it loses it and must pay for it again. No later than when it is owed more it is called anyway.
    """
    finish = follow(now, job, terms, at, size)
    slots = 0 if job.held == NOTHING else terms.sizes[job.held]
    called = job.ready
    for k in range(len(at)):
        if at[k] > called:
            break
        if size[k] > slots:
            called = min(called, at[k])
            break
        if k > 0 and at[k] > now:
            before = NOTHING if size[k - 1] == 0 else level_of(terms.sizes, size[k - 1])
            called_back = Runner(job.todo, before, at[k], job.rate, job.useful)
            finish = max(finish, follow(at[k], called_back, terms, at, size))
    if called > now:
        finish = max(finish, follow(called, job, terms, at, size))
    return finish


@compiled
def carry(now: float, jobs: Jobs, terms: Terms, old_number: Ints, old: Book) -> tuple[Book, Ints]:
    """Bring the last round's reservations up to date and drop those of jobs that are gone.

    What lies behind is cut off, and so is what a job no longer needs because it ran faster than reserved.
    The second value lists the rows that have fallen behind: their reservations no longer suffice.
    """
    rows = len(jobs.todo)
    book = empty_book(rows)
    behind = np.empty(rows, dtype=np.int64)
    late = 0
    r = 0
    for i in range(rows):
        while r < len(old_number) and old_number[r] < jobs.number[i]:
            r += 1
        if r == len(old_number) or old_number[r] != jobs.number[i]:
            continue
        first, last = old.offset[r], old.offset[r] + old.parts[r]
        while first + 1 < last and old.at[first + 1] <= now:
            first += 1
        finish = surely_done(now, runner(jobs, i), terms, old.at[first:last], old.size[first:last])
        # A reservation that is over holds no slots any more, however little is left to do.
        if finish > old.end[r] + ROUNDING or old.end[r] <= now:
            behind[late] = i
            late += 1
            finish = old.end[r]
        end = old.end[r]
        while last - first > 1 and old.at[last - 1] >= finish:
            last -= 1
            # Room for one move is kept, but never more than was reserved: the rest may be somebody else's.
            if old.size[last] < old.size[last - 1]:
                end = old.at[last]
        end = min(finish + terms.move[level_of(terms.sizes, old.size[last - 1])], end)
        book = write(book, i, old.at[first:last], old.size[first:last], end)
    return book, behind[:late]


@compiled
def left_free(now: float, capacity: int, book: Book) -> Free:
    """What all reservations together leave free, by one sweep over their beginnings and ends."""
    edges = 2 * book.used
    time = np.empty(edges, dtype=np.float64)
    change = np.empty(edges, dtype=np.int64)
    e = 0
    for i in range(len(book.parts)):
        first, last = book.offset[i], book.offset[i] + book.parts[i]
        for k in range(first, last):
            until = book.at[k + 1] if k + 1 < last else book.end[i]
            begin = max(book.at[k], now)
            if until <= begin or book.size[k] == 0:
                continue
            time[e] = begin
            change[e] = -book.size[k]
            time[e + 1] = until
            change[e + 1] = book.size[k]
            e += 2
    free = all_free(now, capacity, e + 16)
    order = np.argsort(time[:e])
    k = 0
    for edge in order:
        if time[edge] > free.at[k]:
            k += 1
            free.at[k] = time[edge]
            free.slots[k] = free.slots[k - 1]
        free.slots[k] += change[edge]
    return Free(free.at, free.slots, k + 1)
