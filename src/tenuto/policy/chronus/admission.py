"""Keeping the lease plan true, and promising leases to newcomers."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tenuto.model.columns import Flags, Ints
from tenuto.model.snapshot import Snapshot
from tenuto.policy.chronus.book import Book
from tenuto.policy.chronus.clock import Clock, Work
from tenuto.policy.chronus.greedy import packed, surely_too_much

Solve = Callable[[Ints, Ints, Ints, Ints, bool], Flags | None]
"""As `program.best_leases`; may give up."""


class Planning(NamedTuple):
    """All that planning looks at, and the book in which it writes."""

    snap: Snapshot
    clock: Clock
    work: Work
    book: Book
    solve: Solve


def never(_size: Ints, _need: Ints, _available: Ints, _capacity: Ints, _eager: bool) -> Flags | None:
    """Solve nothing: what greedy packing does not find is not there."""
    return None


def keep(planning: Planning) -> None:
    """Give back leases that a job no longer needs, find more for who has too few.

    Who ran ahead of its plan gives back its earliest leases: they can be of use to newcomers in a hurry.
    """
    _, _, work, book, _ = planning
    np.minimum(book.parts, work.need, out=book.parts)
    behind = book.promised & (book.parts < work.need)
    if behind.any() or _overbooked(planning):
        need = np.where(book.promised, np.minimum(work.need, work.available), 0)
        if not _plan_anew(planning, need):
            for row in np.flatnonzero(behind).tolist():
                _plan_alone(planning, row, int(need[row]))


def admit(planning: Planning, row: int) -> bool:
    """Promise a newcomer its leases beside all others', if need be by planning everybody anew."""
    need = max(int(planning.work.need[row]), 1)  # a promise is at least one lease
    if need > planning.work.available[row]:
        return False
    if _plan_alone(planning, row, need):
        return True
    everybody = planning.book.parts.copy()
    everybody[row] = need
    return _plan_anew(planning, everybody)


def use_present(planning: Planning, eager: bool) -> None:
    """Plan everybody anew so that most, or fewest, slots of the first lease are used; or leave the plan as it is."""
    snap, clock, work, book, solve = planning
    rows = np.flatnonzero(book.parts)
    if len(rows):
        rows = rows[np.argsort(snap.held[rows] == 0, kind="stable")]  # among equals, who runs goes on
        size, need, available = snap.requested[rows], book.parts[rows], work.available[rows]
        chosen = solve(size, need, available, _capacity(snap, available), eager)
        if chosen is not None:
            book.write(rows, need, clock.first + _listed(chosen))


def _overbooked(planning: Planning) -> bool:
    """Whether more is planned than the cluster has: nodes were lost."""
    snap, clock, _, book, _ = planning
    rows = np.flatnonzero(book.parts)
    if len(rows) == 0:
        return False
    last = int(book.planned[book.offset[rows]].max())
    return bool(book.room(clock, snap, last + 1 - clock.first).min(initial=0) < 0)


def _plan_alone(planning: Planning, row: int, need: int) -> bool:
    """Find all leases for a row beside what is planned for the others."""
    snap, clock, work, book, _ = planning
    before = int(book.parts[row])
    book.parts[row] = 0
    room = book.room(clock, snap, int(work.available[row]))
    rows, needs = np.array([row]), np.array([need])
    leases = packed(snap.requested[rows], needs, work.available[rows], room)
    if leases is None:
        book.parts[row] = before
        return False
    book.write(rows, needs, clock.first + leases)
    return True


def _plan_anew(planning: Planning, need: Ints) -> bool:
    """Find all leases for all rows; False, and the old plan stays in force, if there is no way."""
    snap, clock, work, book, solve = planning
    rows = np.flatnonzero(need)
    size, need, available = snap.requested[rows], need[rows], work.available[rows]
    capacity = _capacity(snap, available)
    if surely_too_much(size, need, available, capacity):
        return False
    leases = packed(size, need, available, capacity)
    if leases is None:
        chosen = solve(size, need, available, capacity, True)  # either way will do; this one is found sooner
        if chosen is None:
            return False
        leases = _listed(chosen)
    book.write(rows, need, clock.first + leases)
    return True


def _capacity(snap: Snapshot, available: Ints) -> Ints:
    return np.full(int(available.max(initial=0)), snap.capacity, dtype=np.int64)


def _listed(chosen: Flags) -> Ints:
    """The leases of each job, the latest first."""
    lease: Ints = chosen.shape[1] - 1 - np.nonzero(chosen[:, ::-1])[1]
    return lease
