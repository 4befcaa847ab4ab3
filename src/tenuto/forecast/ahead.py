"""What will become of the jobs of a snapshot if nobody else comes: the same rounds, run ahead of time.

Between two rounds jobs work along their curves and changes cost what the snapshot says, as in the simulator. Who
is estimated this way is promised nothing.

Where many jobs live, a round at every event would take too long. Then several ends are taken together: each job has
its own end, but the slots of the first stay idle until the last, so that whoever waits for them is seen to begin a
little late. Promised jobs have a plan, which holds however closely one looks.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from tenuto.forecast.memory import planned_ends
from tenuto.model.columns import Flags, Floats, Ints, frozen
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
LEAST_ROUNDS = 12
GRAIN = 0.1
"""How late a round may be that only the policy asks for, where one cannot look closely; see `Reach`."""

FOR_AN_ANSWER = 30_000
"""Rounds times rows that the estimate in an answer is worth."""
FOR_A_QUESTION = 60_000
"""The same for everybody's future, for somebody who waits for it."""


@dataclass(frozen=True)
class Ahead:
    """The future of each row, in the snapshot's time."""

    start: Floats
    """When it first has slots: now for those that run; `inf` if not within what was looked at."""
    finish: Floats
    """As it was seen; the end of its plan, if that is earlier or nothing was seen; else `inf`."""
    planned: Floats
    """When its reservation ends by the plan of now; `inf` for those without one."""
    refused: Flags
    verdicts: Mapping[int, Verdict]
    """The answers to newcomers, by row."""
    sizes: Mapping[int, Sequence[tuple[float, int]]]
    """By row, the changes of its slots that were seen: when, and how many it has from then on."""
    seen_until: float
    """The moment up to which the future was looked at; `inf` if nothing happens any more after what was seen."""
    to_the_end: bool
    """Whether nothing happens any more behind that moment."""
    first: Round
    """The round of now."""
    onward: Floats
    """When it is done if all goes on as at that moment; `inf` for whoever has no slots then."""


@dataclass(frozen=True, slots=True)
class Reach:
    """How far to look ahead, and how closely."""

    until: float = inf
    rounds: int = MOST_ROUNDS
    ends: int = 1
    """Ends of jobs that are taken together, so that one round follows them all."""
    grain: float = 0.0
    """The part of the time looked at so far by which a round that only the policy asks for may be late."""

    @property
    def exact(self) -> bool:
        """Whether every event is looked at."""
        return self.ends == 1 and self.grain == 0.0

    @classmethod
    def within(cls, work: int, rows: int) -> Reach:
        """As closely as an amount of work allows, which is rounds times rows, if all rows shall be seen to end."""
        rounds = min(max(work // max(rows, 1), LEAST_ROUNDS), MOST_ROUNDS)
        # Half of the rounds for the ends of jobs, half for what the policy asks for.
        ends = -(-2 * rows // rounds)
        return cls(rounds=rounds) if ends <= 1 else cls(rounds=rounds, ends=ends, grain=GRAIN)


FAR_AND_CLOSE = Reach()


def ahead(
    snap: Snapshot,
    policy: Policy,
    *,
    watch: Collection[int] | None = None,
    reach: Reach = FAR_AND_CLOSE,
    first: Round | None = None,
) -> Ahead:
    """Run rounds until the watched rows have ended (all of them by default), or as far as one is to look.

    `first` is the round of now, if it was run already.
    """
    world = _World(snap)
    watched = np.zeros(len(snap), dtype=np.bool_)
    watched[list(range(len(snap)) if watch is None else watch)] = True
    first = first or run_round(world.snapshot(), policy)
    world.apply(first)
    due = 0.0
    for _ in range(1, reach.rounds):
        seen = world.snap.now - snap.now
        due = world.next_event(reach.ends, snap.now + seen * (1.0 + reach.grain))
        if due == inf or due > reach.until or not (world.live & watched).any():
            break
        world.advance_to(due)
        world.apply(run_round(world.snapshot(), policy))
    return _seen(world, first, reach, to_the_end=due == inf)


def _seen(world: _World, first: Round, reach: Reach, *, to_the_end: bool) -> Ahead:
    planned = planned_ends(first.memory, world.snap.number)
    by_plan = np.isinf(world.finish) | (not reach.exact)
    return Ahead(
        start=world.start,
        finish=np.where(by_plan, np.minimum(world.finish, planned), world.finish),
        planned=planned,
        refused=world.refused,
        verdicts=world.verdicts,
        sizes=world.sizes,
        seen_until=inf if world.is_still else world.snap.now,
        to_the_end=to_the_end,
        first=first,
        onward=world.onward(),
    )


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
        self.sizes: dict[int, list[tuple[float, int]]] = {}

    def next_event(self, together: int, asked_from: float) -> float:
        """When so many jobs have ended (of few a part, so that no slot is idle for long), or the policy may ask."""
        ends = self._ends(np.flatnonzero(self.live & (self.speed > 0.0)))
        together = max(min(together, len(ends) // 4), 1)
        end = float(np.partition(ends, together - 1)[together - 1]) if len(ends) else inf
        return min(end, max(self.wake_at, asked_from))

    @property
    def is_still(self) -> bool:
        """Whether somebody is left, but nobody works and the policy will not ask: so it stays for ever."""
        return bool(self.live.any()) and self.wake_at == inf and not (self.live & (self.speed > 0.0)).any()

    def onward(self) -> Floats:
        """When everybody ends who runs, if nothing changes any more."""
        runs = np.flatnonzero(self.live & (self.speed > 0.0))
        found: Floats = np.full(len(self.snap), inf)
        found[runs] = self._ends(runs)
        return found

    def _ends(self, runs: Ints) -> Floats:
        begin = np.maximum(self.snap.now, self.snap.ready_at[runs])
        ends: Floats = begin + self.snap.left[runs] / self.speed[runs]
        return ends

    def advance_to(self, time: float) -> None:
        """Let the jobs work until then; take out the finished ones."""
        snap = self.snap
        runs = np.flatnonzero(self.live & (self.speed > 0.0))
        ends = self._ends(runs)
        worked = np.maximum(time - np.maximum(snap.now, snap.ready_at[runs]), 0.0)
        snap.left[runs] -= worked * self.speed[runs]
        over = snap.left[runs] <= DONE * self.speed[runs]
        ended = runs[over]
        layout = snap.layout
        if len(ended):
            self.finish[ended] = np.where(ends[over] < time - DONE, ends[over], time)
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
        self.sizes.setdefault(row, []).append((snap.now, slots))
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
