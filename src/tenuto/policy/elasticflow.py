"""ElasticFlow: admission by minimum satisfactory shares, and spare slots to where they cost least.

The idea is that of Gu et al., "ElasticFlow: An Elastic Serverless Training Platform for Distributed Deep
Learning" (ASPLOS 2023). Here a promise is a stored reservation and every change of size has its cost in it.
"""

from __future__ import annotations

import numpy as np

from tenuto.compiled import compiled
from tenuto.model.columns import Flags, Floats, Ints
from tenuto.model.plan import Decision
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
from tenuto.policy.book import Book, Jobs, carry, empty_book, left_free, runner
from tenuto.policy.free import all_free
from tenuto.policy.promises import THRIFTY, admit, make_do, mend, reserve, room_for
from tenuto.policy.share import Terms, as_fast_as_possible, smallest_share
from tenuto.policy.spare import Moment, Shares, distribute


def decide(snap: Snapshot) -> Decision:
    """Admit each newcomer that leaves every promise intact, then spend the spare slots."""
    hopeless = hopeless_newcomers(snap)
    newcomers = askers(snap, hopeless)
    jobs = jobs_of(snap)
    memory = remembered(snap)
    shares, earliest, book = _promise_and_spend(
        Moment(snap.now, snap.rules.interval),
        snap.capacity,
        jobs,
        terms_of(snap),
        newcomers,
        snap.urgent,
        hopeless,
        memory.number,
        book_of(memory),
    )
    verdicts = verdicts_of(snap, newcomers, earliest, hopeless, book)
    return decided(snap, shares, verdicts, memory_of(snap, book))


def decide_without_admission(snap: Snapshot) -> Decision:
    """Plan everybody, earliest deadline first; who is late anyway takes all it can use."""
    hopeless = hopeless_newcomers(snap)
    shares = _plan_and_spend(
        Moment(snap.now, snap.rules.interval),
        snap.capacity,
        jobs_of(snap),
        terms_of(snap),
        snap.urgent,
        hopeless,
    )
    return decided(snap, shares, queue_all(snap), None)


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
) -> tuple[Shares, Floats, Book]:
    now = moment.now
    book, behind = carry(now, jobs, terms, old_number, old)
    free = left_free(now, capacity, book)
    order = np.argsort(jobs.deadline, kind="mergesort")
    if free.slots[: free.used].min() < 0:
        book, free = make_do(now, capacity, jobs, terms, order, book, THRIFTY)
    elif len(behind) > 0:
        book, free = mend(now, capacity, jobs, terms, order, behind, book, free, THRIFTY)
    book, free, earliest = admit(now, capacity, jobs, terms, order, newcomers, book, free)
    refused = refused.copy()
    for k in range(len(newcomers)):
        refused[newcomers[k]] = earliest[k] != -np.inf
    shares = distribute(moment, capacity, jobs, terms, order, urgent, refused, book, free)
    return shares, earliest, book


@compiled
def _plan_and_spend(
    moment: Moment, capacity: int, jobs: Jobs, terms: Terms, urgent: Flags, refused: Flags
) -> Shares:
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
        book, free = reserve(book, free, i, plan, written, finish, finish)
    return distribute(moment, capacity, jobs, terms, order, urgent, refused, book, free)


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
