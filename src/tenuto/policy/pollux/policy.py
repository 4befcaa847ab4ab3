"""Pollux: share the slots so that everybody gains, compared with an equal share for each.

Qiao et al., *Pollux: Co-adaptive Cluster Scheduling for Goodput-Optimized Deep Learning* (OSDI 2021).

Kept: a job's speedup is its speed relative to that on an equal share of the cluster; the sizes maximise the
power mean of all speedups; whoever is changed loses a part of its speedup, the larger, the younger it is
and the more its changes have cost it already; and sizes are chosen anew at most once in an interval.

Not kept: batches. Here a job's batch is fixed, so its goodput is its curve, which is known and need not be
fitted. And the genetic search: Pollux also searches for nodes, while here placement comes after the sizes. Sizes
alone are a knapsack, whose best solution is found at once, so that nothing is left to chance.
`tenuto replay --compat artifact` has both.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np

from tenuto.model.columns import Floats, Ints, frozen
from tenuto.model.plan import Decision
from tenuto.model.snapshot import Snapshot
from tenuto.policy.answers import queue_all
from tenuto.policy.base import Policy
from tenuto.policy.fixed import DUE, carried, rows_then
from tenuto.policy.pollux.knapsack import cheapest

_FLOOR = 1e-3
"""Added to every speedup, so that a job with nothing does not make all others worthless."""
_NEVER_NOTHING = 1e-2
"""What a change leaves of a speedup at least: even a job that lost all its time should rather run than wait."""
_AGED = 1 / 8
"""By this part a job must grow older before a change that was not worth it is thought of again."""


@dataclass(frozen=True, slots=True)
class History:
    """What is remembered of every job of the last round."""

    searched: float
    """When sizes were last chosen."""
    number: Ints
    changed_at: Floats
    lost: Floats
    """Seconds that all changes but the first start have cost it."""


@dataclass(frozen=True, slots=True)
class Pollux:
    """Sizes by the power mean of speedups."""

    fairness: float = -1.0
    """Exponent of the mean, -100 to 1: 1 looks at the sum alone; the lower, the more the slowest job counts."""

    def __post_init__(self) -> None:
        if not -100.0 <= self.fairness <= 1.0:  # below, the value of nothing exceeds every number
            raise ValueError("fairness must be from -100 to 1")

    def __call__(self, snap: Snapshot) -> Decision:
        """Choose sizes anew, unless that was done less than an interval ago."""
        past = snap.memory if isinstance(snap.memory, History) else _nothing_yet()
        lost = _lost(snap, past)
        rest = past.searched + snap.rules.interval
        if snap.now < rest - DUE:
            return Decision(snap.held, queue_all(snap), rest, _history(snap, past.searched, lost))
        speedup = _speedups(snap)
        at_rest = _price(speedup, self.fairness)
        after_change = _price(speedup * _kept(snap, lost), self.fairness)
        sizes = np.append(0, snap.sizes)
        unchanged = sizes == snap.held[:, np.newaxis]
        chosen = cheapest(np.where(unchanged, at_rest, after_change), sizes, snap.capacity)
        wake_at = _wake_at(snap, at_rest, chosen)
        return Decision(sizes[chosen], queue_all(snap), wake_at, _history(snap, snap.now, lost))


def _nothing_yet() -> History:
    none = np.empty(0)
    return History(-np.inf, np.empty(0, dtype=np.int64), none, none)


def _history(snap: Snapshot, searched: float, lost: Floats) -> History:
    return History(searched, frozen(snap.number.copy()), frozen(snap.changed_at.copy()), frozen(lost))


def _lost(snap: Snapshot, past: History) -> Floats:
    """Seconds that each job has lost by changes after its first start."""
    then = rows_then(snap, past.number)
    before = carried(past.changed_at, then, -np.inf)
    again = np.isfinite(before) & (snap.changed_at > before) & (snap.held > 0)
    paid = np.zeros(len(snap))
    paid[again] = np.maximum(snap.ready_at[again] - snap.changed_at[again], 0.0)
    return carried(past.lost, then, 0.0) + paid


def _speedups(snap: Snapshot) -> Floats:
    """Speed by row and size, nothing first, relative to that on a fair share; NaN where a size makes no sense.

    Scaled so that a share as large as a node is worth 1 where jobs scale well.
    """
    usable = (snap.useful > 0.0) & (snap.sizes <= snap.capacity)
    fair = ceil(snap.capacity / max(len(snap), 1))
    within = np.where(usable & (snap.sizes <= fair), snap.useful, 0.0).max(axis=1, initial=0.0)
    slowest = np.where(usable, snap.useful, np.inf).min(axis=1, initial=np.inf)
    base = np.where(within > 0.0, within, slowest)
    scale = len(snap.cluster.slots) / snap.cluster.total
    speedup = np.where(usable, snap.useful / base[:, np.newaxis] * scale, np.nan)
    return np.concatenate([np.zeros((len(snap), 1)), speedup], axis=1)


def _kept(snap: Snapshot, lost: Floats) -> Floats:
    """What a change to each size leaves of a job's speedup: the part of its life that it did not lose by changes.

    Its life ends an interval from now: for so long the new size lasts at least.
    """
    life = np.maximum(snap.now - snap.arrived, 0.0) + max(snap.rules.interval, 1.0)
    cost = np.where((snap.held > 0)[:, np.newaxis], snap.cost.rescale, snap.cost.start)
    kept = np.maximum(life - lost, 0.0)[:, np.newaxis] / (life[:, np.newaxis] + cost)
    return np.concatenate([np.ones((len(snap), 1)), np.maximum(kept, _NEVER_NOTHING)], axis=1)


def _price(speedup: Floats, fairness: float) -> Floats:
    """What every size adds to the sum whose least value has the highest mean; infinity where it makes no sense."""
    value = speedup + _FLOOR
    price = -np.log(value) if fairness == 0.0 else -np.sign(fairness) * value**fairness
    return np.where(np.isnan(speedup), np.inf, price)


def _wake_at(snap: Snapshot, at_rest: Floats, chosen: Ints) -> float:
    """When to choose again if nothing happens: not, unless changes were left undone for what they cost."""
    sizes, rows = np.append(0, snap.sizes), np.arange(len(snap))
    at_no_cost = cheapest(at_rest, sizes, snap.capacity)
    better, present = at_rest[rows, at_no_cost].sum(), at_rest[rows, chosen].sum()
    undone = at_no_cost != chosen
    if not undone.any() or present - better <= 1e-9 * abs(better):
        return float(np.inf)
    age = float((snap.now - snap.arrived)[undone].min())
    return snap.now + max(snap.rules.interval, _AGED * age, 1.0)


POLLUX = Policy(
    name="pollux",
    summary="Sizes that maximise a fair mean of all speedups over an equal share, changes weighed by their cost.",
    decide=Pollux(),
    promises=False,
)
