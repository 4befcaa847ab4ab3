"""Time in leases: which one runs, which ones are still whole, and what a lease is worth to a job."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tenuto.model.columns import Flags, Floats, Ints
from tenuto.model.snapshot import Snapshot
from tenuto.policy.fixed import requested_level

ROUNDING = 1e-9
"""Share of a lease by which work may exceed a whole number of leases; a world's rounding is larger."""
FARTHEST = 100_000
"""Leases that a plan looks ahead; a promise beyond is kept within them."""


LATE = 0.1
"""Share of a lease by which the round that gives it out may be late; who came after that waits for the next one."""


class Clock(NamedTuple):
    """Lease k lasts from `k * length` to `(k + 1) * length`."""

    now: float
    length: float
    current: int
    """The lease that runs."""
    begins: bool
    """Whether this is the first round in the current lease."""
    first: int
    """The first lease that can still be given out: the current one at its beginning, else the next."""

    @property
    def opens(self) -> bool:
        """Whether this round gives out the current lease."""
        return self.first == self.current

    @property
    def late(self) -> float:
        """How much the first lease that can be given out is too short."""
        return self.now - self.current * self.length if self.opens else 0.0

    @property
    def ends(self) -> float:
        """When the current lease ends."""
        return (self.current + 1) * self.length


def clock_at(now: float, length: float, given_out: int) -> Clock:
    """Read the time. Boundaries are compared as the floats they are, so that no round is a hair too early."""
    current = int(now // length)
    if (current + 1) * length <= now:
        current += 1
    elif current * length > now:
        current -= 1
    begins = given_out < current
    opens = begins and now - current * length <= LATE * length
    return Clock(now, length, current, begins, current if opens else current + 1)


class Work(NamedTuple):
    """What is to be done, by row of the snapshot."""

    seconds: Floats
    """On the requested slots, from now on, without any cost; `inf` where the job cannot run on them."""
    start: Floats
    """What a start costs."""
    need: Ints
    """Leases, from the first one on, that surely suffice; FARTHEST + 1 where none do."""
    available: Ints
    """Leases, from the first one on, that end by the deadline."""


def work_of(snap: Snapshot, clock: Clock, holds: Flags) -> Work:
    """Count in leases. A lease is worth its length less the cost of a start or a move, for it may begin with one.

    `holds` are the rows that have the current lease; unless that is about to be given out, they work until its end.
    """
    level = requested_level(snap)
    rate = np.where(level >= 0, snap.rate[np.arange(len(snap)), level], 0.0)
    seconds = np.full(len(snap), np.inf)
    np.divide(snap.left, rate, out=seconds, where=rate > 0.0)
    to_promise = seconds * (1.0 + snap.rules.margin) + clock.late
    if not clock.opens:
        running = holds & (snap.held == snap.requested)
        until_end = clock.ends - np.maximum(clock.now, snap.ready_at)
        to_promise = to_promise - np.where(running, np.maximum(until_end, 0.0), 0.0)
    worth = clock.length - np.maximum(snap.cost.start, snap.cost.move)[level]
    leases = np.full(len(snap), np.inf)
    np.divide(to_promise, worth, out=leases, where=worth > 0.0)
    need = np.clip(np.ceil(leases - ROUNDING), 0, FARTHEST + 1).astype(np.int64)
    return Work(seconds, snap.cost.start[level], need, _available(snap.deadline, clock))


def _available(deadline: Floats, clock: Clock) -> Ints:
    last = clock.first + FARTHEST
    due = np.minimum(np.floor(deadline / clock.length), last)
    due = np.where(due * clock.length > deadline, due - 1, due)
    available: Ints = np.maximum(due - clock.first, 0).astype(np.int64)
    return available
