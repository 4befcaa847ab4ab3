"""Gandiva: nobody waits long, because jobs take turns on the slots.

Xiao et al., *Gandiva: Introspective Cluster Scheduling for Deep Learning* (OSDI 2018): when not everybody fits, jobs
are suspended and resumed round robin. Slots are divided between jobs of different sizes in proportion to what they
ask for together, which is to say that every job runs for the same part of the time. Each resumption costs a start.
Packing several jobs on one slot and migration by introspection are not part of this: a slot has one worker.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tenuto.model.plan import Decision
from tenuto.model.snapshot import Snapshot
from tenuto.policy.base import Policy
from tenuto.policy.fixed import verdicts, wishes_of
from tenuto.policy.turns import Turns, no_turns, take_turns


@dataclass(frozen=True, slots=True)
class Gandiva:
    """Time slicing."""

    quantum: float = 60.0
    """Seconds of work in a turn, after the cost of starting; at least one interval."""

    def __post_init__(self) -> None:
        if not 0.0 < self.quantum < np.inf:
            raise ValueError("quantum must be above 0")

    def __call__(self, snap: Snapshot) -> Decision:
        """Let everybody have the same part of the time."""
        before = snap.memory if isinstance(snap.memory, Turns) else no_turns(snap.now)
        length = max(self.quantum, snap.rules.interval)
        sizes, turns = take_turns(snap, wishes_of(snap), before, np.ones(len(snap)), length)
        return Decision(sizes, verdicts(snap), turns.ends, turns)


GANDIVA = Policy(
    name="gandiva",
    summary="Time slicing on the requested slots: when not everybody fits, jobs take turns.",
    decide=Gandiva(),
    promises=False,
)
