"""Taking turns: while not everybody fits, slots are dealt anew each time a turn is over.

Every job has a clock that runs while it holds slots, the slower the more of the time it is owed (its weight; stride
scheduling). Whose clock is least advanced comes first. So over time everybody holds slots in proportion to its
weight, large jobs as often as small ones: a large job that is first in line always fits. Between two turns nobody is
stopped; idle slots are given away in the same order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tenuto.model.columns import Flags, Floats, Ints, frozen
from tenuto.model.snapshot import Snapshot
from tenuto.policy.fixed import DUE, Wishes, carried, first_fit, rows_then

LEAD = 4.0
"""Turns by which a job may be ahead: who had idle slots for long does not pay for more than that later."""


@dataclass(frozen=True, slots=True)
class Turns:
    """Whose turn it has been until the last round."""

    at: float
    """When that round was."""
    ends: float
    """When the present turn is over; `inf` while nobody waits."""
    number: Ints
    ahead: Floats
    """Seconds by which each job's clock is ahead of the least advanced one."""
    weight: Floats
    """The part of the time that each job is owed."""


def no_turns(now: float) -> Turns:
    """Before the first round."""
    return Turns(now, np.inf, np.empty(0, dtype=np.int64), np.empty(0), np.empty(0))


def take_turns(
    snap: Snapshot, wishes: Wishes, before: Turns, weight: Floats, length: float
) -> tuple[Ints, Turns]:
    """Deal the slots if a turn is over, else give away the idle ones. Returns sizes and what to remember."""
    ahead = _clocks(snap, wishes.able, before, length)
    over = before.ends <= snap.now + DUE
    sizes = first_fit(snap, _order(snap, wishes.able, ahead, length, over))
    ends = before.ends
    if not (wishes.able & (sizes == 0)).any():
        ends = np.inf
    elif over or np.isinf(ends):
        ends = snap.now + _until_all_work(snap, wishes.level, sizes) + length
    turns = Turns(snap.now, ends, frozen(snap.number.copy()), frozen(ahead), frozen(weight))
    return sizes, turns


def _clocks(snap: Snapshot, able: Flags, before: Turns, length: float) -> Floats:
    """Let the clocks run until now; newcomers begin with the least advanced one."""
    then = rows_then(snap, before.number)
    weight = carried(before.weight, then, 1.0)
    ahead = carried(before.ahead, then, 0.0) + (snap.held > 0) * (snap.now - before.at) / weight
    known = able & (then >= 0)
    if known.any():
        ahead -= ahead[known].min()
    return np.where(known, np.minimum(ahead, LEAD * length / weight), 0.0)


def _order(snap: Snapshot, able: Flags, ahead: Floats, length: float, over: bool) -> Ints:
    """Least advanced first, by whole turns: among equals who runs already, then the large ones."""
    rows = np.flatnonzero(able)
    turns, waits, small = np.round(ahead[rows] / length), snap.held[rows] == 0, -snap.requested[rows]
    rank = np.lexsort((small, waits, turns) if over else (small, turns, waits))
    return rows[rank]


def _until_all_work(snap: Snapshot, level: Ints, sizes: Ints) -> float:
    """Seconds until all who run have paid for their start: a turn is for working, however much that costs."""
    runs = np.flatnonzero(sizes)
    held, level = snap.held[runs], level[runs]
    changes = np.where(held == 0, snap.cost.start[level], snap.cost.rescale[level])
    pays = np.where(held == sizes[runs], snap.ready_at[runs] - snap.now, changes)
    return float(pays.max(initial=0.0))
