"""Earliest deadline first: the most urgent job takes all it can use, the next one what is left, and so on.

With admission, the plan that this order makes is kept as reservations, and a newcomer is refused if it would
make anybody late.
"""

from __future__ import annotations

import numpy as np

from tenuto.compiled import compiled
from tenuto.model.columns import Flags, Floats, Ints
from tenuto.model.plan import GLADLY, Decision
from tenuto.model.snapshot import Snapshot
from tenuto.policy.answers import (
    askers,
    book_of,
    decided,
    hopeless_newcomers,
    memory_of,
    queue_all,
    remembered,
    verdicts_of,
)
from tenuto.policy.base import Policy, jobs_of, terms_of
from tenuto.policy.book import Book, Jobs, carry, left_free, owed_now, runner
from tenuto.policy.promises import GREEDY, make_do, mend, plan_together, room_for
from tenuto.policy.share import NOTHING, Terms, as_fast_as_possible, level_of, level_within
from tenuto.policy.spare import Moment, Shares, next_wake, pays, reluctance_to_move


def decide(snap: Snapshot) -> Decision:
    """Serve the jobs in the order of their deadlines."""
    hopeless = hopeless_newcomers(snap)
    shares = _serve(snap.now, snap.capacity, jobs_of(snap), terms_of(snap), hopeless)
    return decided(snap, shares, queue_all(snap), None)


def decide_with_admission(snap: Snapshot) -> Decision:
    """Let a newcomer in if, in the order of deadlines, everybody is still in time."""
    hopeless = hopeless_newcomers(snap)
    newcomers = askers(snap, hopeless)
    memory = remembered(snap)
    moment = Moment(snap.now, snap.rules.interval)
    shares, earliest, book = _promise_and_serve(
        moment,
        snap.capacity,
        jobs_of(snap),
        terms_of(snap),
        newcomers,
        hopeless,
        memory.number,
        book_of(memory),
    )
    verdicts = verdicts_of(snap, newcomers, earliest, hopeless, book)
    return decided(snap, shares, verdicts, memory_of(snap, book))


@compiled
def _largest(now: float, jobs: Jobs, terms: Terms, i: int, spare: int) -> int:
    """The level for a row if that many slots are left; a running row grows only if that saves time."""
    level = level_within(jobs.useful[i], terms.sizes, spare, len(terms.sizes) - 1)
    held = jobs.held[i]
    if NOTHING < held < level and not pays(now, jobs, terms, i, level):
        return int(held)
    return level


@compiled
def _serve_in_order(
    now: float, jobs: Jobs, terms: Terms, order: Ints, left_out: Flags, level: Ints, spare: int
) -> None:
    for i in order:
        if not left_out[i]:
            level[i] = _largest(now, jobs, terms, i, spare)
            if level[i] != NOTHING:
                spare -= terms.sizes[level[i]]


@compiled
def _serve(now: float, capacity: int, jobs: Jobs, terms: Terms, refused: Flags) -> Shares:
    level = np.full(len(jobs.todo), NOTHING)
    order = np.argsort(jobs.deadline, kind="mergesort")
    _serve_in_order(now, jobs, terms, order, refused, level, capacity)
    return Shares(level, level, np.full(len(level), GLADLY), np.inf)


@compiled
def _admit_in_order(
    now: float, capacity: int, jobs: Jobs, terms: Terms, order: Ints, newcomers: Ints, book: Book
) -> tuple[Book, Floats]:
    """Decide the newcomers one by one; for the refused ones say when they could have been done."""
    member = book.parts > 0
    earliest = np.full(len(newcomers), -np.inf)
    for k in range(len(newcomers)):
        i = newcomers[k]
        member[i] = True
        fits, new_book, _ = plan_together(now, capacity, jobs, terms, order, member, GREEDY)
        if fits:
            book = new_book
        else:
            member[i] = False
            free = left_free(now, capacity, book)
            earliest[k] = as_fast_as_possible(now, runner(jobs, i), terms, free, room_for(free))[1]
    return book, earliest


@compiled
def _promise_and_serve(
    moment: Moment,
    capacity: int,
    jobs: Jobs,
    terms: Terms,
    newcomers: Ints,
    refused: Flags,
    old_number: Ints,
    old: Book,
) -> tuple[Shares, Floats, Book]:
    now = moment.now
    order = np.argsort(jobs.deadline, kind="mergesort")
    book, behind = carry(now, jobs, terms, old_number, old)
    free = left_free(now, capacity, book)
    if free.slots[: free.used].min() < 0:
        book, free = make_do(now, capacity, jobs, terms, order, book, GREEDY)
    elif len(behind) > 0:
        book, free = mend(now, capacity, jobs, terms, order, behind, book, free, GREEDY)
    book, earliest = _admit_in_order(now, capacity, jobs, terms, order, newcomers, book)
    level = np.full(len(jobs.todo), NOTHING)
    spare = capacity
    for i in range(len(level)):
        slots = owed_now(book, i)
        if slots > 0:
            level[i] = level_of(terms.sizes, slots)
            spare -= slots
    without_promise = (jobs.deadline < np.inf) | refused
    modest = level.copy()
    _serve_in_order(now, jobs, terms, order, without_promise, level, spare)
    free = left_free(now, capacity, book)
    reluctance = reluctance_to_move(now, jobs, terms, level, book, free)
    return Shares(level, modest, reluctance, next_wake(moment, jobs, terms, level, 0, book)), earliest, book


EDF = Policy(
    name="edf",
    summary="Earliest deadline first: each job in turn takes all the slots it can use; nothing is promised.",
    decide=decide,
    promises=False,
)
EDF_ADMISSION = Policy(
    name="edf-admission",
    summary="Earliest deadline first, and who would make anybody late is refused.",
    decide=decide_with_admission,
    promises=True,
    aliases=("edf-accessctrl",),
)
