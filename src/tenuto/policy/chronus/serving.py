"""Who runs now: the holders of the lease, and on what they leave all others in an order."""

from __future__ import annotations

import numpy as np

from tenuto.model.columns import Flags, Ints
from tenuto.model.plan import GLADLY, NEVER, RATHER_NOT
from tenuto.model.snapshot import Snapshot
from tenuto.policy.chronus.book import Book
from tenuto.policy.chronus.clock import Clock, Work
from tenuto.policy.fixed import first_fit

HOLDER, KEPT, BEHIND, HOPEFUL, AHEAD, OTHER = range(6)
"""Who is served first: holders of the lease; within a lease, who runs already; promised jobs that have lost time; jobs
without a promise that can still make their deadline; promised jobs ahead of their plan; all others."""


def served(snap: Snapshot, clock: Clock, work: Work, book: Book, can_run: Flags) -> Ints:
    """Give slots in the order of the classes: promised jobs by deadline, all others by the work that is left.

    Within a lease nobody starts who could not make any progress before it ends.
    """
    runs = snap.held == snap.requested
    rank = _ranks(snap, clock, work, book)
    seconds = work.seconds + np.where(runs, 0.0, work.start)
    key = np.where(book.promised, snap.deadline, seconds * snap.requested)
    in_time = clock.opens | (clock.now + work.start < clock.ends)
    rows = np.flatnonzero(can_run & (in_time | (rank <= KEPT)))
    return first_fit(snap, rows[np.lexsort((key[rows], ~snap.urgent[rows], rank[rows]))])


def _ranks(snap: Snapshot, clock: Clock, work: Work, book: Book) -> Ints:
    runs = snap.held == snap.requested
    done_by = clock.now + work.seconds + np.where(runs, 0.0, work.start)
    hopeful = np.isfinite(snap.deadline) & (done_by <= snap.deadline)
    rank = np.where(hopeful, HOPEFUL, OTHER)
    rank = np.where(book.promised, np.where(book.parts < work.need, BEHIND, AHEAD), rank)
    if not clock.opens:
        rank = np.where(runs, KEPT, rank)
    return np.where(book.holds, HOLDER, rank)


def reluctance(snap: Snapshot, clock: Clock, book: Book) -> Ints:
    """Within a lease nobody is moved, its holders least of all; at its beginning a move is part of what it is worth."""
    others = np.where((snap.held > 0) & (not clock.opens), RATHER_NOT, GLADLY)
    return np.where(book.holds, RATHER_NOT if clock.opens else NEVER, others)
