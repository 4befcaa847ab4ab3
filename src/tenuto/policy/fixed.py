"""What policies share that give every job the size it asked for, or nothing.

Who can run at all, who fits in an order, what newcomers are told, and how a remembered column finds its rows again.
"""

from __future__ import annotations

import numpy as np

from tenuto.model.columns import Flags, Floats, Ints
from tenuto.model.plan import Verdict
from tenuto.model.snapshot import Snapshot
from tenuto.policy.answers import TOO_LARGE, queue_all

DUE = 1e-6
"""Seconds by which a moment may lie ahead and still count as come, against rounding."""


def requested_level(snap: Snapshot) -> Ints:
    """The column of the requested size in `rate`; -1 if no job of the snapshot knows that size."""
    level: Ints = np.searchsorted(snap.sizes, snap.requested)
    level[level == len(snap.sizes)] = -1
    level[snap.sizes[level] != snap.requested] = -1
    return level


def requested_rate(snap: Snapshot) -> Floats:
    """Steps per second on the requested slots; 0 where the job cannot run on them."""
    level = requested_level(snap)
    rate: Floats = np.where(level >= 0, snap.rate[np.arange(len(snap)), level], 0.0)
    return rate


def able(snap: Snapshot) -> Flags:
    """Who could run now if it were alone; the others wait for a larger cluster."""
    return (snap.requested <= snap.capacity) & (requested_rate(snap) > 0.0)


def first_fit(snap: Snapshot, order: Ints) -> Ints:
    """Give the rows of `order` their requested sizes one by one; who does not fit in what is left is passed over."""
    sizes: Ints = np.zeros(len(snap), dtype=np.int64)
    spare = snap.capacity
    # Each turn of the loop serves all up to the first who does not fit; nobody of that size fits any more.
    while len(order := order[snap.requested[order] <= spare]):
        taken = np.cumsum(snap.requested[order])
        count = int(np.searchsorted(taken, spare, side="right"))
        sizes[order[:count]] = snap.requested[order[:count]]
        spare -= int(taken[count - 1])
        order = order[count:]
    return sizes


def verdicts(snap: Snapshot) -> dict[int, Verdict]:
    """Nothing is promised: everybody may wait, except who asks for more slots than there are."""
    answers = queue_all(snap)
    for row in answers:
        if snap.requested[row] > snap.capacity:
            answers[row] = TOO_LARGE
    return answers


def carried(snap: Snapshot, number: Ints, column: Floats, otherwise: float) -> Floats:
    """A column remembered by job number, for the rows of now; `otherwise` for jobs that were not there."""
    found = np.full(len(snap), otherwise)
    if len(number):
        at = np.minimum(np.searchsorted(number, snap.number), len(number) - 1)
        known = number[at] == snap.number
        found[known] = column[at[known]]
    return found
