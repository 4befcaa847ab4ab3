"""Admission: a newcomer is promised its deadline if a plan keeps every promise, its own and the earlier ones.

First the newcomer is fitted into what the standing reservations leave free, so that nobody else is touched.
If that fails, all promised jobs are planned anew together with it, earliest deadline first, each with its
smallest sufficient share. If even that fails, the old reservations stay in force and it is refused.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tenuto.compiled import compiled
from tenuto.model.columns import Flags, Floats, Ints
from tenuto.policy.book import Book, Jobs, empty_book, runner, segments_of, write
from tenuto.policy.free import Free, all_free, least_free, take_segments
from tenuto.policy.share import (
    TOLERANCE,
    Segments,
    Terms,
    as_fast_as_possible,
    change_cost,
    level_of,
    smallest_share,
)

THRIFTY, GREEDY = 0, 1
"""Styles of planning: with the smallest share that suffices, or with everything a job can use."""


@compiled
def room_for(free: Free) -> Segments:
    """Columns that can take any plan on this free capacity."""
    return Segments(np.empty(free.used + 2), np.empty(free.used + 2, dtype=np.int64))


@compiled
def reserve(
    book: Book,
    free: Free,
    i: int,
    plan: Segments,
    written: int,
    finish: float,
    reserve_until: float,
) -> tuple[Book, Free]:
    """Enter a plan into the book and take its slots from the free capacity.

    The last slots are kept a little longer than needed where they are free anyway, at most until the second
    time given: room for being moved to other slots.
    """
    at, size = plan.at[:written], plan.size[:written]
    end = finish
    if reserve_until > finish and least_free(free, finish, reserve_until) >= size[-1]:
        end = reserve_until
    return write(book, i, at, size, end), take_segments(free, at, size, end, 1)


@compiled
def with_one_move(jobs: Jobs, terms: Terms, i: int, plan: Segments, written: int, finish: float) -> float:
    """When a row is done if it is moved once on the way; its finish if that would be after its deadline."""
    moved = finish + terms.move[level_of(terms.sizes, plan.size[written - 1])]
    return moved if moved <= jobs.deadline[i] - TOLERANCE else finish


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
def in_time(
    now: float, jobs: Jobs, terms: Terms, free: Free, i: int, plan: Segments, style: int
) -> tuple[int, float]:
    """Plan one row in the given style; the finish is `inf` if it would be after the deadline."""
    if style == THRIFTY:
        return smallest_share(now, jobs.deadline[i], runner(jobs, i), terms, free, plan)
    written, finish = as_fast_as_possible(now, runner(jobs, i), terms, free, plan)
    return written, finish if finish <= jobs.deadline[i] - TOLERANCE else np.inf


@compiled
def plan_together(
    now: float,
    capacity: int,
    jobs: Jobs,
    terms: Terms,
    order: Ints,
    member: Flags,
    style: int,
) -> tuple[bool, Book, Free]:
    """Plan the members anew in the given order; False as soon as one cannot make its deadline.

    Room for moves is kept if it can be had for nothing.
    """
    for allowance in (True, False):
        fits, book, free = _plan_in_order(now, capacity, jobs, terms, order, member, style, allowance)
        if fits:
            break
    return fits, book, free


@compiled
def _plan_in_order(
    now: float,
    capacity: int,
    jobs: Jobs,
    terms: Terms,
    order: Ints,
    member: Flags,
    style: int,
    allowance: bool,
) -> tuple[bool, Book, Free]:
    book = empty_book(len(jobs.todo))
    free = all_free(now, capacity, 2 * len(order) + 16)
    for i in order:
        if member[i]:
            plan = room_for(free)
            written, finish = in_time(now, jobs, terms, free, i, plan, style)
            if finish == np.inf:
                return False, book, free
            until = with_one_move(jobs, terms, i, plan, written, finish) if allowance else finish
            book, free = reserve(book, free, i, plan, written, finish, until)
    return True, book, free


@compiled
def plan_anew(
    now: float,
    capacity: int,
    jobs: Jobs,
    terms: Terms,
    order: Ints,
    member: Flags,
    first: int,
    style: int,
) -> tuple[bool, Book, Free]:
    """Plan all members together, in the first of three orders in which everybody is in time.

    Earliest deadline first; then one row before everybody else; then least time to spare first.
    """
    latest_start = np.empty(len(jobs.todo), dtype=np.float64)
    for i in range(len(latest_start)):
        latest_start[i] = jobs.deadline[i] - jobs.todo[i] / jobs.useful[i].max()
    orders = np.empty((3, len(order)), dtype=np.int64)
    orders[0] = order
    orders[1, 0] = first
    orders[1, 1:] = order[order != first]
    orders[2] = np.argsort(latest_start, kind="mergesort")
    for k in range(3):  # one call, because the compiler copies what it calls to every place
        fits, book, free = plan_together(now, capacity, jobs, terms, orders[k], member, style)
        if fits:
            break
    return fits, book, free


@compiled
def mend(
    now: float,
    capacity: int,
    jobs: Jobs,
    terms: Terms,
    order: Ints,
    behind: Ints,
    book: Book,
    free: Free,
    style: int,
) -> tuple[Book, Free]:
    """Plan anew because the reservations of some rows no longer suffice.

    All promised jobs together if that saves them all; else only those rows, if need be with the room of
    another that can do without it, and late, but as little as possible, if nothing better is left.
    """
    fits, new_book, new_free = plan_anew(now, capacity, jobs, terms, order, book.parts > 0, behind[0], style)
    if fits:
        return new_book, new_free
    for i in behind:
        old = segments_of(book, i)
        free = take_segments(free, old.at, old.size, book.end[i], -1)
        plan = room_for(free)
        written, finish = in_time(now, jobs, terms, free, i, plan, style)
        if finish == np.inf:
            written, finish = as_fast_as_possible(now, runner(jobs, i), terms, free, plan)
            j = _who_gives_way(now, jobs, terms, order, i, book, free, style, finish - jobs.deadline[i])
            if j >= 0:
                pair = _trade(now, jobs, terms, i, j, book, free, style)
                book = write(book, i, pair.plan.at, pair.plan.size, pair.finish)
                book = write(book, j, pair.other.at, pair.other.size, pair.end)
                free = pair.free
                continue
        until = with_one_move(jobs, terms, i, plan, written, finish)
        book, free = reserve(book, free, i, plan, written, finish, until)
    return book, free


class Pair(NamedTuple):
    """Two rows planned one after the other on what all the others leave free."""

    plan: Segments
    finish: float
    """`inf` if the first one is not in time."""
    other: Segments
    end: float
    free: Free


@compiled
def _trade(
    now: float,
    jobs: Jobs,
    terms: Terms,
    i: int,
    j: int,
    book: Book,
    free: Free,
    style: int,
) -> Pair:
    """Plan a row in time with the room of another, and that one anew after it, late if need be."""
    old = segments_of(book, j)
    free = take_segments(
        Free(free.at.copy(), free.slots.copy(), free.used),
        old.at,
        old.size,
        book.end[j],
        -1,
    )
    plan = room_for(free)
    written, finish = in_time(now, jobs, terms, free, i, plan, style)
    plan = Segments(plan.at[:written], plan.size[:written])
    if finish == np.inf:
        return Pair(plan, finish, plan, finish, free)
    free = take_segments(free, plan.at, plan.size, finish, 1)
    other = room_for(free)
    parts, end = in_time(now, jobs, terms, free, j, other, style)
    if end == np.inf:
        parts, end = as_fast_as_possible(now, runner(jobs, j), terms, free, other)
    other = Segments(other.at[:parts], other.size[:parts])
    return Pair(plan, finish, other, end, take_segments(free, other.at, other.size, end, 1))


@compiled
def _who_gives_way(
    now: float,
    jobs: Jobs,
    terms: Terms,
    order: Ints,
    i: int,
    book: Book,
    free: Free,
    style: int,
    lateness: float,
) -> int:
    """Find the row whose room saves a late one at the least lateness of its own; -1 if none improves it."""
    best = -1
    for j in order[::-1]:
        if j == i or book.parts[j] == 0:
            continue
        pair = _trade(now, jobs, terms, i, j, book, free, style)
        if pair.finish < np.inf and max(pair.end - jobs.deadline[j], 0.0) < lateness:
            best, lateness = j, max(pair.end - jobs.deadline[j], 0.0)
            if lateness == 0.0:
                break
    return best


@compiled
def make_do(
    now: float,
    capacity: int,
    jobs: Jobs,
    terms: Terms,
    order: Ints,
    book: Book,
    style: int,
) -> tuple[Book, Free]:
    """Plan anew because slots are lost that were reserved: who can still be in time is, in the given order."""
    new_book = empty_book(len(jobs.todo))
    free = all_free(now, capacity, 2 * len(order) + 16)
    for late in (False, True):
        for i in order:
            if book.parts[i] > 0 and new_book.parts[i] == 0:
                plan = room_for(free)
                written, finish = in_time(now, jobs, terms, free, i, plan, style)
                if finish == np.inf and late:
                    written, finish = as_fast_as_possible(now, runner(jobs, i), terms, free, plan)
                if finish < np.inf:
                    new_book, free = reserve(new_book, free, i, plan, written, finish, finish)
    return new_book, free


@compiled
def admit(
    now: float,
    capacity: int,
    jobs: Jobs,
    terms: Terms,
    order: Ints,
    newcomers: Ints,
    book: Book,
    free: Free,
) -> tuple[Book, Free, Floats]:
    """Decide the newcomers one by one, in the order given.

    The third value holds for each newcomer `-inf` if it was admitted; otherwise the earliest finish that
    could have been promised.
    """
    member = book.parts > 0
    earliest = np.full(len(newcomers), -np.inf)
    for k in range(len(newcomers)):
        i = newcomers[k]
        plan = room_for(free)
        written, finish = smallest_share(now, jobs.deadline[i], runner(jobs, i), terms, free, plan)
        if finish < np.inf:
            until = with_one_move(jobs, terms, i, plan, written, finish)
            book, free = reserve(book, free, i, plan, written, finish, until)
            member[i] = True
            continue
        if possible_alone(now, capacity, jobs, terms, i):
            member[i] = True
            fits, new_book, new_free = plan_anew(now, capacity, jobs, terms, order, member, i, THRIFTY)
            if fits:
                book, free = new_book, new_free
                continue
            member[i] = False
        earliest[k] = as_fast_as_possible(now, runner(jobs, i), terms, free, plan)[1]
    return book, free, earliest
