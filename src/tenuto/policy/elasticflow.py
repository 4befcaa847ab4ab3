"""ElasticFlow: admission by minimum satisfactory shares, and spare slots to where they cost least.

The idea is that of Gu et al., "ElasticFlow: An Elastic Serverless Training Platform for Distributed Deep
Learning" (ASPLOS 2023). Here a promise is a stored reservation and every change of size has its cost in it.
"""

from __future__ import annotations

import numpy as np

from tenuto.compiled import compiled
from tenuto.model.columns import Flags, Floats, Ints, frozen
from tenuto.model.plan import Answer, Decision, Verdict, Why
from tenuto.model.reservations import Reservations, no_reservations
from tenuto.model.snapshot import Snapshot
from tenuto.policy.base import NO_PROMISE_ASKED, TOO_LARGE, Policy, jobs_of, queue_all, terms_of, too_large
from tenuto.policy.book import Book, Jobs, carry, empty_book, left_free, runner
from tenuto.policy.free import all_free
from tenuto.policy.promises import admit, mend, reserve, room_for
from tenuto.policy.share import Terms, as_fast_as_possible, smallest_share
from tenuto.policy.spare import Moment, distribute


def decide(snap: Snapshot) -> Decision:
    """Admit each newcomer that leaves every promise intact, then spend the spare slots."""
    hopeless = too_large(snap) & snap.undecided
    asks = snap.undecided & np.isfinite(snap.deadline) & ~hopeless
    newcomers = np.flatnonzero(asks)
    jobs = jobs_of(snap)
    memory = snap.memory if isinstance(snap.memory, Reservations) else no_reservations()
    slots, wake, pinned, earliest, book = _promise_and_spend(
        Moment(snap.now, snap.rules.interval),
        snap.capacity,
        jobs,
        terms_of(snap),
        newcomers,
        snap.urgent,
        hopeless,
        memory.number,
        _book(memory),
    )
    verdicts = _verdicts(snap, newcomers, earliest, hopeless, book)
    return Decision(slots, verdicts, wake, _memory(snap, book), pinned)


def decide_without_admission(snap: Snapshot) -> Decision:
    """Plan everybody, earliest deadline first; who is late anyway takes all it can use."""
    hopeless = too_large(snap) & snap.undecided
    slots, wake = _plan_and_spend(
        Moment(snap.now, snap.rules.interval), snap.capacity, jobs_of(snap), terms_of(snap), snap.urgent, hopeless
    )
    return Decision(slots, queue_all(snap), wake)


@compiled
def _promise_and_spend(
    moment: Moment,
    capacity: int,
    jobs: Jobs,
    terms: Terms,
    newcomers: Ints,
    urgent: Flags,
    refused: Flags,
    old_number: Ints,
    old: Book,
) -> tuple[Ints, float, Flags, Floats, Book]:
    now = moment.now
    book, behind = carry(now, jobs, terms, old_number, old)
    free = left_free(now, capacity, book)
    order = np.argsort(jobs.deadline, kind="mergesort")
    if len(behind) > 0:
        book, free = mend(now, capacity, jobs, terms, order, behind, book, free)
    book, free, earliest = admit(now, capacity, jobs, terms, order, newcomers, book, free)
    refused = refused.copy()
    for k in range(len(newcomers)):
        refused[newcomers[k]] = earliest[k] != -np.inf
    level, wake, pinned = distribute(moment, capacity, jobs, terms, order, urgent, refused, book, free)
    return _slots_of(level, terms), wake, pinned, earliest, book


@compiled
def _plan_and_spend(
    moment: Moment, capacity: int, jobs: Jobs, terms: Terms, urgent: Flags, refused: Flags
) -> tuple[Ints, float]:
    now = moment.now
    book = empty_book(len(jobs.todo))
    free = all_free(now, capacity, 2 * len(jobs.todo) + 16)
    order = np.argsort(jobs.deadline, kind="mergesort")
    for i in order:
        if refused[i] or jobs.deadline[i] == np.inf:
            continue
        plan = room_for(free)
        written, finish = smallest_share(now, jobs.deadline[i], runner(jobs, i), terms, free, plan)
        if finish == np.inf:
            written, finish = as_fast_as_possible(now, runner(jobs, i), terms, free, plan)
        book, free = reserve(book, free, i, plan, written, finish)
    level, wake, _ = distribute(moment, capacity, jobs, terms, order, urgent, refused, book, free)
    return _slots_of(level, terms), wake


@compiled
def _slots_of(level: Ints, terms: Terms) -> Ints:
    slots = np.zeros(len(level), dtype=np.int64)
    for i in range(len(level)):
        if level[i] >= 0:
            slots[i] = terms.sizes[level[i]]
    return slots


def _book(memory: Reservations) -> Book:
    return Book(memory.offset, memory.count, memory.end, memory.at, memory.size, len(memory.at))


def _memory(snap: Snapshot, book: Book) -> Reservations:
    rows = np.flatnonzero(book.count)
    return Reservations(
        number=frozen(snap.number[rows]),
        offset=frozen(book.offset[rows]),
        count=frozen(book.count[rows]),
        end=frozen(book.end[rows]),
        at=frozen(book.at[: book.used]),
        size=frozen(book.size[: book.used]),
    )


def _verdicts(
    snap: Snapshot, newcomers: Ints, earliest: Floats, hopeless: Flags, book: Book
) -> dict[int, Verdict]:
    verdicts: dict[int, Verdict] = {}
    for row in np.flatnonzero(snap.undecided).tolist():
        verdicts[row] = TOO_LARGE if hopeless[row] else NO_PROMISE_ASKED
    for row, soonest in zip(newcomers.tolist(), earliest.tolist(), strict=True):
        if soonest == -np.inf:
            verdicts[row] = Verdict(
                Answer.ADMITTED,
                Why.FITS,
                promised=float(snap.deadline[row]),
                expected=float(book.end[row]),
                share=int(book.size[book.offset[row] : book.offset[row] + book.count[row]].max()),
            )
        else:
            verdicts[row] = Verdict(Answer.DECLINED, Why.DEADLINE_INFEASIBLE, earliest=soonest)
    return verdicts


ELASTICFLOW = Policy(
    name="elasticflow",
    summary="Promises a deadline only if every promise can be kept; spare slots go where they cost least.",
    decide=decide,
    promises=True,
    aliases=("ef-accessctrl",),
)
ELASTICFLOW_NO_ADMISSION = Policy(
    name="elasticflow-no-admission",
    summary="The same shares and spare slots, but everybody is let in and late jobs take what they can.",
    decide=decide_without_admission,
    promises=False,
    aliases=("ef",),
)
