"""The lease plan: which jobs hold the present lease, and which later ones are promised to whom."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tenuto.compiled import compiled
from tenuto.model.columns import Flags, Ints, frozen
from tenuto.model.snapshot import Snapshot
from tenuto.policy.chronus.clock import Clock

BEFORE_ALL = -(2**62)
"""A lease before any that ever runs."""


@dataclass(frozen=True, slots=True)
class Leases:
    """What is remembered between rounds. Leases are numbered from time zero."""

    length: float
    current: int
    """The lease that ran when the round was over."""
    number: Ints
    """The promised jobs, ascending."""
    holds: Flags
    """Whether they hold the current lease."""
    parts: Ints
    """How many later leases are planned for each."""
    planned: Ints
    """Those leases, job by job, the latest first."""


@dataclass(slots=True)
class Book:
    """The same for a round's work, by row of the snapshot; leases may stand anywhere in `planned`."""

    promised: Flags
    holds: Flags
    offset: Ints
    parts: Ints
    planned: Ints

    def write(self, rows: Ints, parts: Ints, leases: Ints) -> None:
        """Promise these leases, row by row, to these rows; what they had is void."""
        self.promised[rows] = True
        self.offset[rows] = len(self.planned) + np.cumsum(parts) - parts
        self.parts[rows] = parts
        self.planned = np.concatenate([self.planned, leases])

    def begin(self, lease: int) -> Flags:
        """Drop all leases up to this one from the plan; True for the rows that hold it."""
        return _begin(self.offset, self.parts, self.planned, lease)

    def room(self, clock: Clock, snap: Snapshot, leases: int) -> Ints:
        """Slots that nobody is promised in each of that many leases, from the first one on."""
        room = np.full(leases, snap.capacity, dtype=np.int64)
        _subtract(self.offset, self.parts, self.planned, snap.requested, clock.first, room)
        return room


def remembered(snap: Snapshot, length: float) -> Leases:
    """The plan of the last round; an empty one if another policy, or another length, ruled until now."""
    if isinstance(snap.memory, Leases) and snap.memory.length == length:
        return snap.memory
    nobody = frozen(np.empty(0, dtype=np.int64))
    return Leases(length, BEFORE_ALL, nobody, frozen(np.empty(0, dtype=np.bool_)), nobody, nobody)


def opened(snap: Snapshot, memory: Leases) -> Book:
    """Find the rows of the remembered jobs."""
    jobs = len(snap)
    book = Book(
        promised=np.zeros(jobs, dtype=np.bool_),
        holds=np.zeros(jobs, dtype=np.bool_),
        offset=np.zeros(jobs, dtype=np.int64),
        parts=np.zeros(jobs, dtype=np.int64),
        planned=np.empty(0, dtype=np.int64),
    )
    if len(memory.number) == 0:
        return book
    at = np.minimum(np.searchsorted(memory.number, snap.number), len(memory.number) - 1)
    known = np.flatnonzero(memory.number[at] == snap.number)
    at = at[known]
    book.promised[known] = True
    book.holds[known] = memory.holds[at]
    book.parts[known] = memory.parts[at]
    book.offset[known] = (np.cumsum(memory.parts) - memory.parts)[at]
    book.planned = memory.planned.copy()
    return book


def closed(snap: Snapshot, clock: Clock, book: Book) -> Leases:
    """What is to be remembered."""
    rows = np.flatnonzero(book.promised)
    parts = book.parts[rows]
    shift = book.offset[rows] - (np.cumsum(parts) - parts)
    return Leases(
        length=clock.length,
        current=clock.current,
        number=frozen(snap.number[rows]),
        holds=frozen(book.holds[rows]),
        parts=frozen(parts),
        planned=frozen(book.planned[np.repeat(shift, parts) + np.arange(int(parts.sum()))]),
    )


@compiled
def _begin(offset: Ints, parts: Ints, planned: Ints, lease: int) -> Flags:
    holds = np.zeros(len(parts), dtype=np.bool_)
    for i in range(len(parts)):
        while parts[i] > 0 and planned[offset[i] + parts[i] - 1] <= lease:
            parts[i] -= 1
            holds[i] = planned[offset[i] + parts[i]] == lease
    return holds


@compiled
def _subtract(offset: Ints, parts: Ints, planned: Ints, size: Ints, first: int, room: Ints) -> None:
    for i in range(len(parts)):
        for k in range(offset[i], offset[i] + parts[i]):
            lease = planned[k] - first
            if 0 <= lease < len(room):
                room[lease] -= size[i]
