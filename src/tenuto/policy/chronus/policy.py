"""Chronus: promised jobs hold leases, everybody else uses what they leave.

Gao et al., *Chronus: A Novel Deadline-aware Scheduler for Deep Learning Training Jobs* (SoCC 2021): time is cut into
leases of equal length. A newcomer is promised its deadline if enough whole leases before it can be found beside those
already promised; who gets no promise is not sent away but runs on what is left over. At the beginning of a lease
slots change hands; within a lease nobody is stopped or moved, free slots are given away at once.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tenuto.model.columns import Flags, Ints
from tenuto.model.plan import Answer, Decision, Verdict, Why
from tenuto.model.snapshot import Snapshot
from tenuto.policy.answers import NO_PROMISE_ASKED, TOO_LARGE
from tenuto.policy.base import Policy
from tenuto.policy.chronus.admission import Planning, Solve, admit, keep, never, use_present
from tenuto.policy.chronus.book import closed, opened, remembered
from tenuto.policy.chronus.clock import clock_at, work_of
from tenuto.policy.chronus.program import MOST_CHOICES, best_leases, choices
from tenuto.policy.chronus.serving import reluctance, served

NO_ROOM = Verdict(Answer.QUEUED, Why.NO_ROOM_FOR_PROMISE)
"""It will run, but not by leases."""


@dataclass(frozen=True, slots=True)
class ChronusGreedy:
    """Leases planned greedily: large jobs first, as late as their deadlines allow."""

    lease: float = 240.0
    """Seconds in a lease, at least 1."""

    def __post_init__(self) -> None:
        _check(self.lease)

    def __call__(self, snap: Snapshot) -> Decision:
        """Promise, and give out this lease."""
        return _decide(snap, self.lease, never)


@dataclass(frozen=True, slots=True)
class Chronus:
    """Leases planned by an integer program wherever that is small enough, greedily elsewhere."""

    lease: float = 240.0
    """Seconds in a lease, at least 1."""

    def __post_init__(self) -> None:
        _check(self.lease)

    def __call__(self, snap: Snapshot) -> Decision:
        """Promise, and give out this lease."""
        return _decide(snap, self.lease, _solve_if_small)


def _check(lease: float) -> None:
    if not 1.0 <= lease < np.inf:  # every lease wants a round
        raise ValueError("lease must be at least 1 second")


def _solve_if_small(size: Ints, need: Ints, available: Ints, capacity: Ints, eager: bool) -> Flags | None:
    if choices(available) > MOST_CHOICES:
        return None
    return best_leases(size, need, available, capacity, eager)


def _decide(snap: Snapshot, length: float, solve: Solve) -> Decision:
    memory = remembered(snap, length)
    clock = clock_at(snap.now, length, memory.current)
    book = opened(snap, memory)
    if (
        clock.begins and not clock.opens
    ):  # too late for a new plan: who was to begin at the boundary begins now
        book.holds = book.begin(clock.current)
    work = work_of(snap, clock, book.holds)
    planning = Planning(snap, clock, work, book, solve)
    can_run = (snap.requested <= snap.capacity) & np.isfinite(work.seconds)
    verdicts: dict[int, Verdict] = {}
    if clock.begins or snap.undecided.any():
        book.begin(clock.first - 1)
        keep(planning)
        verdicts = _answers(planning, can_run)
        if clock.opens:
            use_present(planning, eager=not (can_run & ~book.promised).any())
            book.holds = book.begin(clock.current)
        memory = closed(snap, clock, book)
    sizes = served(snap, clock, work, book, can_run)
    settled = (sizes == snap.held).all() and (sizes[can_run] > 0).all()
    return Decision(
        sizes=sizes,
        verdicts=verdicts,
        wake_at=np.inf if settled and not book.parts.any() else clock.ends,
        memory=memory,
        reluctance=reluctance(snap, clock, book),
        modest=np.where(book.holds, sizes, 0),
    )


def _answers(planning: Planning, can_run: Flags) -> dict[int, Verdict]:
    """Answer the newcomers one by one, in the order of arrival."""
    snap, clock, _, book, _ = planning
    verdicts: dict[int, Verdict] = {}
    for row in np.flatnonzero(snap.undecided).tolist():
        if not can_run[row]:
            verdicts[row] = TOO_LARGE
        elif snap.deadline[row] == np.inf:
            verdicts[row] = NO_PROMISE_ASKED
        elif admit(planning, row):
            verdicts[row] = Verdict(
                Answer.ADMITTED,
                Why.FITS,
                promised=float(snap.deadline[row]),
                expected=float((book.planned[book.offset[row]] + 1) * clock.length),
                share=int(snap.requested[row]),
            )
        else:
            verdicts[row] = NO_ROOM
    return verdicts


CHRONUS = Policy(
    name="chronus",
    summary="Leases: a deadline is promised if enough leases before it are free; who gets no promise uses the rest.",
    decide=Chronus(),
    promises=True,
    aliases=("time-aware-with-lease",),
    requires=("highspy",),
)
CHRONUS_GREEDY = Policy(
    name="chronus-greedy",
    summary="Chronus without a solver: leases are planned largest job first, as late as the deadlines allow.",
    decide=ChronusGreedy(),
    promises=True,
)
