"""Tiresias: who has had least goes first, without knowing how long anybody will take.

Gu et al., *Tiresias: A GPU Cluster Manager for Distributed Deep Learning* (NSDI 2019): least attained service in
two dimensions (slots times seconds), discretised into three queues. A job falls into the next queue once it has had
so many slot-seconds. Queues are served in order, and nobody is stopped for somebody of its own queue.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tenuto.model.columns import Floats, Ints, frozen
from tenuto.model.plan import Decision
from tenuto.model.snapshot import Snapshot
from tenuto.policy.base import Policy
from tenuto.policy.fixed import DUE, carried, first_fit, rows_then, verdicts, wishes_of


@dataclass(frozen=True, slots=True)
class Attained:
    """What every job has had until the last round."""

    at: float
    """When that round was."""
    number: Ints
    seconds: Floats
    """How long it has held its slots altogether."""
    entered: Floats
    """When it came into its queue."""


@dataclass(frozen=True, slots=True)
class Tiresias:
    """Three queues by the service attained so far."""

    first_limit: float = 3250.0
    """Slot-seconds after which a job leaves the first queue."""
    second_limit: float = 7200.0
    """Slot-seconds after which a job leaves the second queue for the last one."""

    def __post_init__(self) -> None:
        if not 0.0 < self.first_limit <= self.second_limit:
            raise ValueError("the limits must be above 0, the second not below the first")

    def __call__(self, snap: Snapshot) -> Decision:
        """Serve the queues in order, first fit."""
        attained = self._until_now(snap)
        queue = self._queue(snap, attained.seconds)
        rows = np.flatnonzero(wishes_of(snap).able)
        rank = np.lexsort((attained.entered[rows], snap.held[rows] == 0, queue[rows]))
        sizes = first_fit(snap, rows[rank])
        waiting = rows[sizes[rows] == 0]
        wake_at = snap.now + self._until_passed(snap, attained.seconds, queue, sizes, waiting)
        return Decision(sizes, verdicts(snap), wake_at, attained)

    def _until_now(self, snap: Snapshot) -> Attained:
        """Count the time since the last round for those who hold slots, and date who fell into the next queue."""
        before = snap.memory if isinstance(snap.memory, Attained) else _nothing(snap.now)
        then = rows_then(snap, before.number)
        had = carried(before.seconds, then, 0.0)
        entered = np.where(then < 0, snap.arrived, carried(before.entered, then, 0.0))
        seconds = had + np.where(snap.held > 0, snap.now - before.at, 0.0)
        for limit in self._limits(snap):
            fell = (had < limit - DUE) & (seconds >= limit - DUE)
            # Rounded, so that who falls together comes in together.
            entered = np.where(fell, np.round(snap.now - (seconds - limit), 5), entered)
        return Attained(snap.now, frozen(snap.number.copy()), frozen(seconds), frozen(entered))

    def _limits(self, snap: Snapshot) -> tuple[Floats, Floats]:
        """The seconds on the requested slots after which each row falls."""
        return self.first_limit / snap.requested, self.second_limit / snap.requested

    def _queue(self, snap: Snapshot, seconds: Floats) -> Ints:
        first, second = self._limits(snap)
        return (seconds >= first - DUE).astype(np.int64) + (seconds >= second - DUE)

    def _until_passed(
        self, snap: Snapshot, seconds: Floats, queue: Ints, sizes: Ints, waiting: Ints
    ) -> float:
        """Seconds until a running job falls out of a queue in which somebody waits."""
        until = np.inf
        for left_queue, limit in enumerate(self._limits(snap)):
            if (queue[waiting] == left_queue).any():
                falls = (sizes > 0) & (queue <= left_queue)
                until = min(until, float((limit - seconds)[falls].min(initial=np.inf)))
        return until


def _nothing(now: float) -> Attained:
    return Attained(now, np.empty(0, dtype=np.int64), np.empty(0), np.empty(0))


TIRESIAS = Policy(
    name="tiresias",
    summary="Least attained service in three queues on the requested slots; preempts, knows no durations.",
    decide=Tiresias(),
    promises=False,
    aliases=("dlas-gpu",),
)
