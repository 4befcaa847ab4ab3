"""Admission: a newcomer is promised its deadline if a plan keeps every promise, its own and the earlier ones.

First the newcomer is fitted into what the standing reservations leave free, so that nobody else is touched.
If that fails, all promised jobs are planned anew together with it, earliest deadline first, each with its
smallest sufficient share. If even that fails, the old reservations stay in force and it is refused.
"""

from __future__ import annotations

import numpy as np

from tenuto.compiled import compiled
from tenuto.model.columns import Flags, Floats, Ints
from tenuto.policy.book import Book, Jobs, empty_book, runner, segments_of, write
from tenuto.policy.free import Free, all_free, take_segments
from tenuto.policy.share import (
    NOTHING,
    TOLERANCE,
    Segments,
    Terms,
    as_fast_as_possible,
    change_cost,
    level_within,
    smallest_share,
)


@compiled
def room_for(free: Free) -> Segments:
    """Columns that can take any plan on this free capacity."""
    return Segments(np.empty(free.count + 2), np.empty(free.count + 2, dtype=np.int64))


@compiled
def reserve(book: Book, free: Free, i: int, plan: Segments, written: int, finish: float) -> tuple[Book, Free]:
    """Enter a plan into the book and take its slots from the free capacity."""
    at, size = plan.at[:written], plan.size[:written]
    return write(book, i, at, size, finish), take_segments(free, at, size, finish, 1)


@compiled
def possible_alone(now: float, capacity: int, jobs: Jobs, terms: Terms, i: int) -> bool:
    """Whether a row could make its deadline if the cluster were its own."""
    for level in range(len(terms.sizes)):
        if jobs.useful[i, level] > 0.0 and terms.sizes[level] <= capacity:
            cost = change_cost(jobs.held[i], level, terms)
            if now + cost + jobs.todo[i] / jobs.useful[i, level] <= jobs.deadline[i] - TOLERANCE:
                return True
    return False


@compiled
def plan_together(
    now: float, capacity: int, jobs: Jobs, terms: Terms, order: Ints, member: Flags
) -> tuple[bool, Book, Free]:
    """Plan the members anew in the given order; False as soon as one cannot make its deadline."""
    book = empty_book(len(jobs.todo))
    free = all_free(now, capacity, 2 * len(order) + 16)
    for i in order:
        if member[i]:
            plan = room_for(free)
            written, finish = smallest_share(now, jobs.deadline[i], runner(jobs, i), terms, free, plan)
            if finish == np.inf:
                return False, book, free
            book, free = reserve(book, free, i, plan, written, finish)
    return True, book, free


@compiled
def mend(
    now: float, capacity: int, jobs: Jobs, terms: Terms, order: Ints, behind: Ints, book: Book, free: Free
) -> tuple[Book, Free]:
    """Plan anew because the reservations of some rows no longer suffice.

    All promised jobs together if that saves them all; else only those rows, late if nothing better is left.
    """
    fits, new_book, new_free = plan_together(now, capacity, jobs, terms, order, book.count > 0)
    if fits:
        return new_book, new_free
    for i in behind:
        old = segments_of(book, i)
        free = take_segments(free, old.at, old.size, book.end[i], -1)
        plan = room_for(free)
        written, finish = smallest_share(now, jobs.deadline[i], runner(jobs, i), terms, free, plan)
        if finish == np.inf:
            written, finish = as_fast_as_possible(now, runner(jobs, i), terms, free, plan)
        book, free = reserve(book, free, i, plan, written, finish)
    return book, free


@compiled
def admit(
    now: float, capacity: int, jobs: Jobs, terms: Terms, order: Ints, newcomers: Ints, book: Book, free: Free
) -> tuple[Book, Free, Floats]:
    """Decide the newcomers one by one, in the order given.

    The third value holds for each newcomer `-inf` if it was admitted; otherwise the earliest finish that
    could have been promised.
    """
    member = book.count > 0
    earliest = np.full(len(newcomers), -np.inf)
    for k in range(len(newcomers)):
        i = newcomers[k]
        plan = room_for(free)
        written, finish = smallest_share(now, jobs.deadline[i], runner(jobs, i), terms, free, plan)
        if finish < np.inf:
            book, free = reserve(book, free, i, plan, written, finish)
            member[i] = True
            continue
        if possible_alone(now, capacity, jobs, terms, i):
            member[i] = True
            fits, new_book, new_free = plan_together(now, capacity, jobs, terms, order, member)
            if fits:
                book, free = new_book, new_free
                continue
            member[i] = False
        earliest[k] = as_fast_as_possible(now, runner(jobs, i), terms, free, plan)[1]
    return book, free, earliest


@compiled
def runnable(capacity: int, jobs: Jobs, terms: Terms, i: int) -> bool:
    """Whether the cluster has room for a row's smallest useful size."""
    return level_within(jobs.useful[i], terms.sizes, capacity, len(terms.sizes) - 1) != NOTHING
