"""First in, first out: fixed sizes, no preemption, urgent jobs first.

Who does not fit waits; jobs behind it may start earlier if they do not delay it (EASY back-filling).
"""

from __future__ import annotations

import numpy as np

from tenuto.compiled import compiled
from tenuto.model.columns import Flags, Floats, Ints
from tenuto.model.plan import Decision
from tenuto.model.snapshot import Snapshot
from tenuto.policy.base import Policy
from tenuto.policy.fixed import verdicts, wishes_of


def decide(snap: Snapshot) -> Decision:
    """Start waiting jobs in order, each on the slots it asked for."""
    wishes = wishes_of(snap)
    works_for = np.full(len(snap), np.inf)
    np.divide(snap.left, wishes.rate, out=works_for, where=wishes.rate > 0.0)
    runs_for = snap.cost.start[wishes.level] + works_for
    ends = np.maximum(snap.ready_at, snap.now) + works_for
    waiting = np.flatnonzero((snap.held == 0) & wishes.able)
    order = waiting[np.argsort(~snap.urgent[waiting], kind="stable")]
    sizes = _start_in_order(snap.now, snap.capacity, snap.held, snap.requested, runs_for, ends, order)
    return Decision(sizes, verdicts(snap), np.inf)


@compiled
def _start_in_order(
    now: float, capacity: int, held: Ints, requested: Ints, runs_for: Floats, ends: Floats, order: Ints
) -> Ints:
    sizes = held.copy()
    spare = capacity - held.sum()
    first_waits = False
    head_starts, beside_head = np.inf, 0
    for i in order:
        fits = requested[i] <= spare
        if first_waits and now + runs_for[i] > head_starts:
            fits &= requested[i] <= beside_head
            beside_head -= requested[i] if fits else 0
        if fits:
            sizes[i] = requested[i]
            ends[i] = now + runs_for[i]
            spare -= requested[i]
        elif not first_waits:
            first_waits = True
            head_starts, beside_head = _when_free(requested[i], spare, sizes, ends, sizes > 0)
    return sizes


@compiled
def _when_free(slots: int, spare: int, sizes: Ints, ends: Floats, running: Flags) -> tuple[float, int]:
    """When that many slots are free if nobody else starts, and how many more are free then."""
    rows = np.flatnonzero(running)
    for row in rows[np.argsort(ends[rows], kind="mergesort")]:
        spare += sizes[row]
        if spare >= slots:
            return float(ends[row]), spare - slots
    return np.inf, 0


FIFO = Policy(
    name="fifo",
    summary="First in, first out on the requested slots; short jobs may fill gaps, urgent jobs go first.",
    decide=decide,
    promises=False,
)
