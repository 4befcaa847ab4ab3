"""What will become of the jobs of a snapshot if nobody else comes: the same rounds, run ahead of time.

Between two rounds jobs work along their curves and changes cost what the snapshot says, as in the simulator. Who
is estimated this way is promised nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from tenuto.model.columns import Flags, Floats, frozen
from tenuto.model.plan import Action, ActionKind, Round, Verdict
from tenuto.model.snapshot import IDLE, Snapshot
from tenuto.policy.base import Policy
from tenuto.rounds.only import only
from tenuto.rounds.round import run_round

DONE = 1e-6
"""Seconds by which a job may be short of its end and still count as finished, against rounding."""
FARTHEST = 1e9
"""Seconds, about thirty years, beyond which nothing is foreseen."""
MOST_ROUNDS = 2000
"""Rounds after which looking further ahead is not worth the time."""


@dataclass(frozen=True)
class Ahead:
    """The future of each row, in the snapshot's time."""

    start: Floats
    """When it first has slots: now for those that run; `inf` if not within what was looked at."""
    finish: Floats
    """`inf` if not within what was looked at."""
    refused: Flags
    verdicts: Mapping[int, Verdict]
    """The answers to newcomers, by row."""
    seen_until: float
    """The moment up to which the future was looked at."""


def ahead(
    snap: Snapshot,
    policy: Policy,
    *,
    watch: Collection[int] | None = None,
    until: float = inf,
    rounds: int = MOST_ROUNDS,
) -> Ahead:
    """Run rounds until the watched rows have ended (all of them by default), or a moment, or a number of rounds."""
    world = _World(snap)
    watched = np.zeros(len(snap), dtype=np.bool_)
    watched[list(range(len(snap)) if watch is None else watch)] = True
    due = snap.now
    for _ in range(rounds):
        world.advance_to(due)
        world.apply(run_round(world.snapshot(), policy))
        due = world.next_event()
        if due > until or not (world.live & watched).any():
            break
    return Ahead(world.start, world.finish, world.refused, world.verdicts, world.snap.now)


def expected(snap: Snapshot, policy: Policy, rows: Collection[int]) -> dict[int, float]:
    """When these rows will be done as things stand, by row; who cannot be foreseen is left out."""
    if not rows:
        return {}
    seen = ahead(snap, policy, watch=rows)
    return {row: float(seen.finish[row]) for row in rows if seen.finish[row] - snap.now <= FARTHEST}


class _World:
    """The jobs of a snapshot between rounds. Arithmetic and order of events are those of `sim.world`."""

    def __init__(self, snap: Snapshot) -> None:
        rows = np.arange(len(snap))
        self.snap = replace(
            snap,
            left=snap.left.copy(),
            held=snap.held.copy(),
            ready_at=snap.ready_at.copy(),
            changed_at=snap.changed_at.copy(),
            undecided=snap.undecided.copy(),
        )
        self.live: Flags = np.ones(len(snap), dtype=np.bool_)
        level = np.searchsorted(snap.sizes, snap.held)
        runs = snap.held > 0
        self.speed: Floats = np.where(runs, snap.rate[rows, np.where(runs, level, 0)], 0.0)
        self.wake_at = inf
        self.start: Floats = np.where(runs, snap.now, inf)
        self.finish: Floats = np.full(len(snap), inf)
        self.refused: Flags = np.zeros(len(snap), dtype=np.bool_)
        self.verdicts: dict[int, Verdict] = {}

    def next_event(self) -> float:
        """When the next job ends or the policy wants to be asked."""
        runs = self.live & (self.speed > 0.0)
        begin = np.maximum(self.snap.now, self.snap.ready_at[runs])
        ends: Floats = begin + self.snap.left[runs] / self.speed[runs]
        return min(float(ends.min(initial=inf)), self.wake_at)

    def advance_to(self, time: float) -> None:
        """Let the jobs work until then; take out the finished ones."""
        snap = self.snap
        runs = np.flatnonzero(self.live & (self.speed > 0.0))
        worked = np.maximum(time - np.maximum(snap.now, snap.ready_at[runs]), 0.0)
        snap.left[runs] -= worked * self.speed[runs]
        ended = runs[snap.left[runs] <= DONE * self.speed[runs]]
        layout = snap.layout
        if len(ended):
            self.finish[ended] = time
            self.live[ended] = False
            self.speed[ended] = 0.0
            snap.held[ended] = 0
            layout = frozen(np.where(np.isin(layout, snap.number[ended]), IDLE, layout))
        self.snap = replace(snap, now=time, layout=layout)

    def snapshot(self) -> Snapshot:
        """The picture that the next round decides on."""
        return only(self.snap, np.flatnonzero(self.live))

    def apply(self, decided: Round) -> None:
        """Carry out a round."""
        for number, verdict in decided.verdicts.items():
            row = self._row(number)
            self.snap.undecided[row] = False
            self.verdicts[row] = verdict
            if verdict.refused:
                self.refused[row] = True
                self.live[row] = False
        for action in decided.actions:
            self._execute(action)
        self.snap = replace(self.snap, layout=decided.plan.layout, memory=decided.memory)
        self.wake_at = decided.wake_at

    def _row(self, number: int) -> int:
        return int(np.searchsorted(self.snap.number, number))

    def _execute(self, action: Action) -> None:
        snap, row, slots = self.snap, self._row(action.number), len(action.slots)
        snap.changed_at[row] = snap.now
        snap.held[row] = slots
        if action.kind is ActionKind.STOP:
            self.speed[row] = 0.0
            return
        level = int(np.searchsorted(snap.sizes, slots))
        self.speed[row] = snap.rate[row, level]
        snap.ready_at[row] = snap.now + self._seconds(action.kind, level)
        self.start[row] = min(self.start[row], snap.now)

    def _seconds(self, kind: ActionKind, level: int) -> float:
        cost = self.snap.cost
        column = {
            ActionKind.START: cost.start,
            ActionKind.RESIZE: cost.rescale,
            ActionKind.MOVE: cost.move,
        }[kind]
        return float(column[level])
