"""What policies share that give every job the size it asked for, or nothing.

Who can run at all, who fits in an order, what newcomers are told, and how a remembered column finds its rows again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tenuto.model.columns import Flags, Floats, Ints
from tenuto.model.plan import Verdict
from tenuto.model.snapshot import Snapshot
from tenuto.policy.answers import TOO_LARGE, queue_all

NOBODY = -1
"""A number that no job has."""
DUE = 1e-6
"""Seconds by which a moment may lie ahead and still count as come, against rounding."""


def requested_level(snap: Snapshot) -> Ints:
    """The column of the requested size in `rate`; -1 if no job of the snapshot knows that size."""
    level: Ints = np.searchsorted(snap.sizes, snap.requested)
    level[np.append(snap.sizes, 0)[level] != snap.requested] = -1
    return level


class Wishes(NamedTuple):
    """Each row's requested size, read against its curve and the cluster."""

    level: Ints
    """As `requested_level` tells."""
    rate: Floats
    """Steps per second on it; 0 where the job cannot run on it."""
    able: Flags
    """Who could run now if it were alone; the others wait for a larger cluster."""


def wishes_of(snap: Snapshot) -> Wishes:
    """Look up what everybody asked for."""
    level = requested_level(snap)
    rate = snap.rate[np.arange(len(snap)), level]
    rate[level < 0] = 0.0
    return Wishes(level, rate, (rate > 0.0) & (snap.requested <= snap.capacity))


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


def rows_then(snap: Snapshot, number: Ints) -> Ints:
    """For each row its place in columns remembered by these job numbers; -1 for jobs that were not there."""
    row = np.searchsorted(number, snap.number)
    row[np.append(number, NOBODY)[row] != snap.number] = -1
    return row


def carried(column: Floats, rows: Ints, otherwise: float) -> Floats:
    """A remembered column for the rows of now, with `otherwise` for jobs that were not there."""
    return np.concatenate((column, (otherwise,)))[rows]
