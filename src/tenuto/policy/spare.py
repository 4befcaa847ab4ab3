"""Spending spare slots: who may use more than it is owed, and who gets it first.

A promised job may leave its reservation only if it could return to it later and still be in time, both
changes paid. Among what is allowed, slots go where they cost least: to the job whose total slot-seconds grow
least by having them. A job's held size costs nothing, so that nobody is rescaled for a small advantage.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tenuto.compiled import compiled
from tenuto.model.columns import Flags, Floats, Ints
from tenuto.model.plan import GLADLY, NEVER, RATHER_NOT
from tenuto.policy.book import ROUNDING, Book, Jobs, owed_now, runner, segments_of, surely_done
from tenuto.policy.free import Free, least_free, take
from tenuto.policy.share import NOTHING, TOLERANCE, Runner, Terms, change_cost, follow, level_of

PATIENCE = 1e-6
"""Seconds by which a round may come early without finding an interval unfinished."""


class Moment(NamedTuple):
    """When a round takes place and how long a size must last that nobody is owed."""

    now: float
    interval: float


class Shares(NamedTuple):
    """What every row gets, as levels."""

    level: Ints
    modest: Ints
    """A lower level that has to do if there is no place for the wanted one."""
    reluctance: Ints
    """Whether the rows may be moved to other slots."""
    wake_at: float
    """When to look again."""


@compiled
def _slots(terms: Terms, level: int) -> int:
    return 0 if level == NOTHING else int(terms.sizes[level])


@compiled
def back_in_time(now: float, jobs: Jobs, terms: Terms, book: Book, i: int, level: int) -> float:
    """When a row is done at the latest if it goes to a level now and is called back to its reservation."""
    plan = segments_of(book, i)
    if level == jobs.held[i]:  # it may still be paying for its last change
        return surely_done(now, runner(jobs, i), terms, plan.at, plan.size)
    paid = now + change_cost(jobs.held[i], level, terms)
    moved = Runner(jobs.todo[i], level, paid, jobs.rate[i], jobs.useful[i])
    return surely_done(now, moved, terms, plan.at, plan.size)


@compiled
def may_leave(now: float, jobs: Jobs, terms: Terms, book: Book, free: Free, i: int, level: int) -> bool:
    """Whether a row's promise holds even if it goes to this level now and must return at the worst moment."""
    if book.parts[i] == 0:
        return True
    latest = back_in_time(now, jobs, terms, book, i, level)
    if latest <= book.end[i] + ROUNDING:
        return True
    if latest > jobs.deadline[i] - TOLERANCE:
        return False
    last = book.size[book.offset[i] + book.parts[i] - 1]
    return bool(least_free(free, book.end[i], latest) >= last)


@compiled
def pays(now: float, jobs: Jobs, terms: Terms, i: int, level: int) -> bool:
    """Whether growing to a level saves a running row more time than the change takes."""
    held = jobs.held[i]
    cost = change_cost(held, level, terms)
    stay = max(now, jobs.ready[i]) + jobs.todo[i] / jobs.rate[i, held]
    grow = now + cost + jobs.todo[i] / jobs.rate[i, level]
    return bool(stay - grow > cost)


@compiled
def rested(moment: Moment, jobs: Jobs, i: int) -> bool:
    """Whether a row's size has lasted the least interval."""
    return bool(moment.now + PATIENCE >= jobs.changed[i] + moment.interval)


@compiled
def allowed_levels(moment: Moment, jobs: Jobs, terms: Terms, book: Book, free: Free, owed: Ints) -> Flags:
    """For each row the levels above what it is owed that it may be given."""
    rows, levels = jobs.rate.shape
    allowed = np.zeros((rows, levels), dtype=np.bool_)
    for i in range(rows):
        held = jobs.held[i]
        if held > owed[i]:
            allowed[i, held] = may_leave(moment.now, jobs, terms, book, free, i, held)
        may_grow = held == NOTHING or rested(moment, jobs, i)
        for level in range(owed[i] + 1, levels):
            if jobs.useful[i, level] == 0.0 or level == held:
                continue
            if (
                level > held
                and held != NOTHING
                and not (may_grow and pays(moment.now, jobs, terms, i, level))
            ):
                continue
            allowed[i, level] = may_leave(moment.now, jobs, terms, book, free, i, level)
    return allowed


@compiled
def first_allowed(allowed: Flags, i: int, above: int) -> int:
    """The lowest level above another that a row may be given."""
    for level in range(above + 1, allowed.shape[1]):
        if allowed[i, level]:
            return level
    return NOTHING


@compiled
def serve_empty_handed(
    jobs: Jobs, terms: Terms, order: Ints, urgent: Flags, allowed: Flags, level: Ints, spare: int
) -> int:
    """Give everybody without slots the least it can use: those running first, then the urgent ones."""
    for wave in range(3):
        for i in order:
            of_wave = 0 if jobs.held[i] != NOTHING else (1 if urgent[i] else 2)
            if level[i] == NOTHING and of_wave == wave:
                least = first_allowed(allowed, i, NOTHING)
                if least != NOTHING and terms.sizes[least] <= spare:
                    level[i] = least
                    spare -= terms.sizes[least]
    return spare


@compiled
def slot_seconds(jobs: Jobs, terms: Terms, i: int, level: int) -> float:
    """What a row would still occupy if it ran at a level until it is done, the change included."""
    cost = change_cost(jobs.held[i], level, terms)
    return float(terms.sizes[level] * (cost + jobs.todo[i] / jobs.rate[i, level]))


@compiled
def price_steps(jobs: Jobs, terms: Terms, allowed: Flags, level: Ints) -> tuple[Floats, Ints, Ints]:
    """List every step up the ladder of allowed levels with its growth in slot-seconds per slot.

    A step never costs less than the one below it: it cannot be taken earlier.
    """
    rows, levels = jobs.rate.shape
    price = np.empty(rows * levels, dtype=np.float64)
    row = np.empty(rows * levels, dtype=np.int64)
    target = np.empty(rows * levels, dtype=np.int64)
    count = 0
    for i in range(rows):
        below = level[i]
        floor = -np.inf
        step = NOTHING if below == NOTHING else first_allowed(allowed, i, below)
        while step != NOTHING:
            growth = slot_seconds(jobs, terms, i, step) - slot_seconds(jobs, terms, i, below)
            floor = max(floor, growth / (terms.sizes[step] - terms.sizes[below]))
            price[count] = floor
            row[count] = i
            target[count] = step
            count += 1
            below = step
            step = first_allowed(allowed, i, below)
    return price[:count], row[:count], target[:count]


@compiled
def serve_by_price(jobs: Jobs, terms: Terms, allowed: Flags, level: Ints, spare: int) -> int:
    """Take the cheapest step that fits, again and again."""
    price, row, target = price_steps(jobs, terms, allowed, level)
    for step in np.argsort(price, kind="mergesort"):
        i = row[step]
        if first_allowed(allowed, i, level[i]) != target[step]:
            continue
        extra = terms.sizes[target[step]] - _slots(terms, level[i])
        if extra <= spare:
            level[i] = target[step]
            spare -= extra
    return spare


@compiled
def settle(now: float, jobs: Jobs, terms: Terms, owed: Ints, level: Ints, book: Book, free: Free) -> Free:
    """Hold room for every row's way back to its reservation; who finds none stays with what it is owed."""
    for i in range(len(level)):
        if level[i] == owed[i] or book.parts[i] == 0:
            continue
        latest = back_in_time(now, jobs, terms, book, i, level[i])
        if latest <= book.end[i] + ROUNDING:
            continue
        last = book.size[book.offset[i] + book.parts[i] - 1]
        if least_free(free, book.end[i], latest) >= last:
            free = take(free, book.end[i], latest, last)
            book.end[i] = latest
        elif owed[i] < jobs.held[i] < level[i]:
            level[i] = jobs.held[i]
        else:
            level[i] = owed[i]
    return free


@compiled
def reluctance_to_move(now: float, jobs: Jobs, terms: Terms, level: Ints, book: Book, free: Free) -> Ints:
    """Hold room for one move of every row that keeps its size; who finds none should stay where it is."""
    reluctance = np.full(len(level), GLADLY)
    for i in range(len(level)):
        if book.parts[i] == 0 or level[i] == NOTHING or level[i] != jobs.held[i]:
            continue
        paid = now + terms.move[level[i]]
        moved = Runner(jobs.todo[i], level[i], paid, jobs.rate[i], jobs.useful[i])
        plan = segments_of(book, i)
        latest = follow(paid, moved, terms, plan.at, plan.size)
        if latest <= book.end[i]:
            continue
        last = plan.size[-1]
        if latest > jobs.deadline[i] - TOLERANCE:
            reluctance[i] = NEVER
        elif least_free(free, book.end[i], latest) >= last:
            free = take(free, book.end[i], latest, last)
            book.end[i] = latest
        else:
            reluctance[i] = RATHER_NOT
    return reluctance


@compiled
def next_wake(moment: Moment, jobs: Jobs, terms: Terms, level: Ints, spare: int, book: Book) -> float:
    """When the next reservation asks for more than its job has, or a size has lasted long enough to grow."""
    wake = np.inf
    for i in range(len(level)):
        slots = _slots(terms, level[i])
        plan = segments_of(book, i)
        for k in range(len(plan.at)):
            if plan.at[k] > moment.now and plan.size[k] > slots:
                wake = min(wake, plan.at[k])
                break
        if spare > 0 and level[i] != NOTHING:
            changed = moment.now if level[i] != jobs.held[i] else jobs.changed[i]
            if moment.now + PATIENCE < changed + moment.interval and _could_grow(
                jobs, terms, i, level[i], spare
            ):
                wake = min(wake, changed + moment.interval)
    return wake


@compiled
def _could_grow(jobs: Jobs, terms: Terms, i: int, level: int, spare: int) -> bool:
    for higher in range(level + 1, len(terms.sizes)):
        if jobs.useful[i, higher] > 0.0:
            return bool(terms.sizes[higher] - terms.sizes[level] <= spare)
    return False


@compiled
def distribute(
    moment: Moment,
    capacity: int,
    jobs: Jobs,
    terms: Terms,
    order: Ints,
    urgent: Flags,
    refused: Flags,
    book: Book,
    free: Free,
) -> Shares:
    """Give every row what it is owed, then spend the rest."""
    rows = len(jobs.todo)
    owed = np.empty(rows, dtype=np.int64)
    spare = capacity
    for i in range(rows):
        slots = owed_now(book, i)
        owed[i] = NOTHING if slots == 0 else level_of(terms.sizes, slots)
        spare -= slots
    level = owed.copy()
    for i in range(rows):  # sizes that have not lasted yet are kept where possible
        extra = _slots(terms, jobs.held[i]) - _slots(terms, owed[i])
        kept = 0 < extra <= spare and not refused[i] and not rested(moment, jobs, i)
        if kept and may_leave(moment.now, jobs, terms, book, free, i, jobs.held[i]):
            level[i] = jobs.held[i]
            spare -= extra
    allowed = allowed_levels(moment, jobs, terms, book, free, owed)
    for i in range(rows):
        if refused[i]:
            allowed[i] = False
    spare = serve_empty_handed(jobs, terms, order, urgent, allowed, level, spare)
    spare = serve_by_price(jobs, terms, allowed, level, spare)
    free = settle(moment.now, jobs, terms, owed, level, book, free)
    reluctance = reluctance_to_move(moment.now, jobs, terms, level, book, free)
    modest = np.where((owed <= jobs.held) & (jobs.held < level), jobs.held, owed)
    return Shares(level, modest, reluctance, next_wake(moment, jobs, terms, level, spare, book))
