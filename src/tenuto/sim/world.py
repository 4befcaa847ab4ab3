"""The simulated world: jobs make progress along their curves, and actions cost what the cost model says.

All jobs of the trace have a row from the beginning; `live` lists the rows that have arrived and not ended.
A job's number is its row, so numbers ascend in the order of arrival.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from tenuto.compiled import compiled
from tenuto.model.columns import Flags, Floats, Ints, frozen
from tenuto.model.cost import Cost
from tenuto.model.plan import Action, ActionKind, Round
from tenuto.model.snapshot import IDLE, Rules, Snapshot, worth_using
from tenuto.sim.workload import Workload

DONE = 1e-6
"""Seconds by which a job may be short of its end and still count as finished, against rounding."""


class World:
    """Everything that happens between two rounds."""

    def __init__(self, workload: Workload, cost: Cost, rules: Rules) -> None:
        jobs = len(workload.trace)
        self.workload = workload
        self.cost = cost
        self.rules = rules
        self.now = -np.inf
        self.arrived = 0
        self.live: Ints = np.empty(0, dtype=np.int64)
        self.layout: Ints = frozen(np.full(workload.cluster.total, IDLE, dtype=np.int64))
        # As on the live platform, a size that the whole cluster has not is none, not even in a heuristic.
        self.rate: Floats = frozen(np.where(workload.sizes <= workload.cluster.total, workload.rate, 0.0))
        self.useful = worth_using(self.rate)
        self.memory: Any = None
        self.wake_at = np.inf

        self.left: Floats = workload.trace.steps.copy()
        self.held: Ints = np.zeros(jobs, dtype=np.int64)
        self.speed: Floats = np.zeros(jobs)
        self.ready_at: Floats = np.full(jobs, -np.inf)
        self.changed_at: Floats = np.full(jobs, -np.inf)
        self.undecided: Flags = np.zeros(jobs, dtype=np.bool_)
        self.not_urgent: Flags = np.zeros(jobs, dtype=np.bool_)

        self.started: Floats = np.full(jobs, np.nan)
        self.finished: Floats = np.full(jobs, np.nan)
        self.refused: Flags = np.zeros(jobs, dtype=np.bool_)
        self.promised: Floats = np.full(jobs, np.nan)
        self.last_size: Ints = np.zeros(jobs, dtype=np.int64)
        self.changes: Ints = np.zeros(jobs, dtype=np.int64)
        self.preempted: Ints = np.zeros(jobs, dtype=np.int64)
        self.reason = [""] * jobs

    def next_event(self) -> float:
        """When something happens next: an arrival, a job's end, or the policy's own wish; `inf` for never."""
        submitted = self.workload.trace.submitted
        if self.arrived == len(submitted) and not len(self.live):
            return np.inf
        arrival = float(submitted[self.arrived]) if self.arrived < len(submitted) else np.inf
        return min(
            arrival, _first_end(self.now, self.live, self.left, self.speed, self.ready_at), self.wake_at
        )

    def advance_to(self, time: float) -> None:
        """Let the jobs work until then; take out the finished ones, let in the arrived ones."""
        ended = _work(self.now, time, self.live, self.left, self.speed, self.ready_at)
        self.now = time
        for number in ended.tolist():
            self._end(number)
        first = self.arrived
        submitted = self.workload.trace.submitted
        while self.arrived < len(submitted) and submitted[self.arrived] <= time:
            self.arrived += 1
        if len(ended) or self.arrived > first:
            self.undecided[first : self.arrived] = True
            stay = self.live[np.isnan(self.finished[self.live])]
            self.live = np.concatenate([stay, np.arange(first, self.arrived)])

    def snapshot(self) -> Snapshot:
        """The picture that a round decides on."""
        live, trace, workload = self.live, self.workload.trace, self.workload
        return Snapshot(
            now=self.now,
            cluster=workload.cluster,
            layout=self.layout,
            sizes=workload.sizes,
            number=live,
            undecided=self.undecided[live],
            urgent=self.not_urgent[live],
            arrived=trace.submitted[live],
            deadline=trace.deadline[live],
            left=self.left[live],
            rate=self.rate[live],
            useful=self.useful[live],
            requested=trace.requested[live],
            held=self.held[live],
            ready_at=self.ready_at[live],
            changed_at=self.changed_at[live],
            cost=self.cost,
            rules=self.rules,
            memory=self.memory,
        )

    def apply(self, decided: Round) -> None:
        """Carry out a round: answer the newcomers, execute the actions, remember what the policy wants."""
        gone = False
        for number, verdict in decided.verdicts.items():
            self.undecided[number] = False
            if verdict.promised is not None:
                self.promised[number] = verdict.promised
            if verdict.refused:
                self.refused[number] = gone = True
                self.reason[number] = verdict.why.value
        for action in decided.actions:
            self._execute(action)
        if gone:
            self.live = self.live[~self.refused[self.live]]
        self.layout = decided.plan.layout
        self.memory = decided.memory
        self.wake_at = decided.wake_at

    def _execute(self, action: Action) -> None:
        number, slots = action.number, len(action.slots)
        self.changes[number] += 1
        self.changed_at[number] = self.now
        self.held[number] = slots
        if action.kind is ActionKind.STOP:
            self.preempted[number] += 1
            self.speed[number] = 0.0
            return
        level = int(np.searchsorted(self.workload.sizes, slots))
        self.last_size[number] = slots
        self.speed[number] = self.rate[number, level]
        self.ready_at[number] = self.now + self._seconds(action.kind, level)
        if np.isnan(self.started[number]):
            self.started[number] = self.now

    def _seconds(self, kind: ActionKind, level: int) -> float:
        column = {
            ActionKind.START: self.cost.start,
            ActionKind.RESIZE: self.cost.rescale,
            ActionKind.MOVE: self.cost.move,
        }[kind]
        return float(column[level])

    def _end(self, number: int) -> None:
        self.finished[number] = self.now
        self.held[number] = 0
        self.speed[number] = 0.0
        self.layout = frozen(np.where(self.layout == number, IDLE, self.layout))


@compiled
def _first_end(now: float, live: Ints, left: Floats, speed: Floats, ready: Floats) -> float:
    """When the first running job ends if nothing changes."""
    first = np.inf
    for job in live:
        if speed[job] > 0.0:
            first = min(first, max(now, ready[job]) + left[job] / speed[job])
    return first


@compiled
def _work(now: float, then: float, live: Ints, left: Floats, speed: Floats, ready: Floats) -> Ints:
    """Do the steps of all running jobs between two moments; return those that are done."""
    ended = np.empty(len(live), dtype=np.int64)
    count = 0
    for job in live:
        if speed[job] == 0.0:
            continue
        left[job] -= max(then - max(now, ready[job]), 0.0) * speed[job]
        if left[job] <= DONE * speed[job]:
            ended[count] = job
            count += 1
    return ended[:count]
