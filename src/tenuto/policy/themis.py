"""Themis: nobody shall be much slower than on an equal share of the cluster of its own.

Mahajan et al., *Themis: Fair and Efficient GPU Cluster Scheduling* (NSDI 2020): slots are leased, and each lease goes
to whom finish-time fairness owes it. A job's ratio is the time from its arrival to its end, if it runs for a part x
of the time from now on, over the time that the same work takes on 1/n of the cluster. The parts make the largest ratio
as small as possible, then the next largest, and so on. Leases are dealt in proportion to the parts (see `turns`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tenuto.model.columns import Floats, Ints, frozen
from tenuto.model.plan import Decision
from tenuto.model.snapshot import Snapshot
from tenuto.policy.base import Policy
from tenuto.policy.fixed import DUE, Wishes, carried, rows_then, verdicts, wishes_of
from tenuto.policy.turns import Turns, no_turns, take_turns

PRECISION = 1e-6
"""How exactly the common ratio is found, relative to itself."""


@dataclass(frozen=True, slots=True)
class Leases:
    """What is known of every job until the last round; rows as in `turns`."""

    turns: Turns
    left: Floats
    """Steps that were to do then."""
    alone: Floats
    """Seconds that the steps before would have taken on the share of their time."""
    alone_rate: Floats
    """Steps per second on the share of then."""


@dataclass(frozen=True, slots=True)
class Themis:
    """Leases by finish-time fairness."""

    lease: float = 60.0
    """Seconds of work in a lease, after the cost of starting; at least one interval."""

    def __post_init__(self) -> None:
        if not 0.0 < self.lease < np.inf:
            raise ValueError("lease must be above 0")

    def __call__(self, snap: Snapshot) -> Decision:
        """Deal the leases so that the largest ratio becomes as small as possible."""
        before = snap.memory if isinstance(snap.memory, Leases) else _no_leases(snap.now)
        wishes = wishes_of(snap)
        alone_rate = rate_alone(snap, snap.capacity / max(int(wishes.able.sum()), 1))
        alone = _alone_until_now(snap, before)
        parts = _parts(snap, wishes, alone, alone_rate)
        length = max(self.lease, snap.rules.interval)
        sizes, turns = take_turns(snap, wishes, before.turns, parts, length)
        leases = Leases(turns, frozen(snap.left.copy()), frozen(alone), frozen(alone_rate))
        return Decision(sizes, verdicts(snap), turns.ends, leases)


def rate_alone(snap: Snapshot, share: float) -> Floats:
    """Steps per second on a share of the cluster of one's own, a number of slots that need not be whole.

    That is the fastest of all sizes up to the requested one; a size larger than the share is had for part of the time.
    """
    of_the_time = np.minimum(1.0, share / snap.sizes)
    allowed = snap.sizes <= snap.requested[:, np.newaxis]
    rate: Floats = np.where(allowed, snap.rate * of_the_time, 0.0).max(axis=1)
    return rate


def _alone_until_now(snap: Snapshot, before: Leases) -> Floats:
    """Seconds that the steps done so far would have taken on a share of one's own."""
    then = rows_then(snap, before.turns.number)
    done = np.maximum(carried(before.left, then, 0.0) - snap.left, 0.0)
    rate = carried(before.alone_rate, then, 0.0)
    spent = np.divide(done, rate, out=np.zeros(len(snap)), where=rate > 0.0)
    return carried(before.alone, then, 0.0) + spent


def _parts(snap: Snapshot, wishes: Wishes, alone: Floats, alone_rate: Floats) -> Floats:
    """The part of the time that each row is owed; all of it if everybody fits."""
    parts = np.ones(len(snap))
    rows = np.flatnonzero(wishes.able)
    slots, rate = snap.requested[rows], wishes.rate[rows]
    if slots.sum() > snap.capacity:
        left = np.maximum(snap.left[rows], DUE * rate)
        parts[rows] = fair_parts(
            since_arrival=snap.now - snap.arrived[rows],
            running=left / rate,
            alone=alone[rows] + left / alone_rate[rows],
            slots=slots,
            capacity=snap.capacity,
        )
    return parts


def fair_parts(
    *, since_arrival: Floats, running: Floats, alone: Floats, slots: Ints, capacity: int
) -> Floats:
    """The part of the time for each job that makes the sorted ratios as small as possible, the largest first.

    A job that runs for a part x of the time has the ratio (since_arrival + running / x) / alone, all in seconds. At
    the optimum all have the same ratio, except those whose ratio is larger even though they always run. All of them
    together ask for more than the capacity.
    """

    def parts(ratio: float) -> Floats:
        return running / np.maximum(ratio * alone - since_arrival, running)

    weights = slots.astype(np.float64)
    even = capacity / weights.sum()
    with_even_parts = (since_arrival + running / even) / alone
    low, high = float(with_even_parts.min()), float(with_even_parts.max())
    while high - low > PRECISION * high:
        middle = (low + high) / 2.0
        if parts(middle) @ weights > capacity:
            low = middle
        else:
            high = middle
    return parts(high)


def _no_leases(now: float) -> Leases:
    return Leases(no_turns(now), np.empty(0), np.empty(0), np.empty(0))


THEMIS = Policy(
    name="themis",
    summary="Leases on the requested slots by finish-time fairness: who is slowest beside its fair share goes first.",
    decide=Themis(),
    promises=False,
)
