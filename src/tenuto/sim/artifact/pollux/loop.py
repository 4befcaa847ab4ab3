"""The loop around Pollux: jobs work for a slot, then a search places them anew."""

from __future__ import annotations

from dataclasses import dataclass, field
from math import ceil

import numpy as np

from tenuto.model.columns import frozen
from tenuto.sim.artifact.order import Order
from tenuto.sim.artifact.pollux.allocation import Allocator
from tenuto.sim.artifact.pollux.applications import applications
from tenuto.sim.artifact.pollux.jobs import Job, Training
from tenuto.sim.artifact.pollux.log import Log
from tenuto.sim.artifact.pollux.training import Measured, curve_of
from tenuto.sim.artifact.state import rules_for
from tenuto.sim.outcome import Outcome
from tenuto.sim.workload import Workload


def replay_pollux(workload: Workload, order: Order) -> Outcome:
    """Replay a workload. The clock ticks in whole slots; those in which no job is there are skipped."""
    slot = rules_for(workload.cluster, order.slot, refresh=False).slot
    jobs = _jobs(workload)
    cluster = _Cluster(jobs)
    allocator = Allocator(workload.cluster, order.seed)
    log = Log(workload, layouts=order.layouts)
    told = 0
    while cluster.arrived < len(jobs) or cluster.live:
        cluster.advance(slot)
        if cluster.live:
            log.note(cluster.now, allocator.place(cluster.now, cluster.live))
        told = order.tell(cluster.arrived - len(cluster.live), told, len(jobs))
    return _outcome(workload, jobs, log)


@dataclass
class _Cluster:
    """The jobs between two rounds."""

    jobs: list[Job]
    now: float = 0.0
    arrived: int = 0
    live: list[Job] = field(default_factory=list)
    """In the order of submission."""

    def advance(self, slot: float) -> None:
        """Let jobs work until the next round, take out the finished ones, let in the submitted ones."""
        if self.live:
            for job in self.live:
                job.run(self.now, slot)
            self.now += slot
        else:
            self.now = ceil(self.jobs[self.arrived].submitted / slot) * slot
        self.live = [job for job in self.live if not job.done]
        while self.arrived < len(self.jobs) and self.jobs[self.arrived].submitted <= self.now:
            self.live.append(self.jobs[self.arrived])
            self.arrived += 1


def _jobs(workload: Workload) -> list[Job]:
    nodes = len(workload.cluster.slots)
    return [
        Job(row, float(submitted), _training(workload, row), np.zeros(nodes, dtype=np.int16))
        for row, submitted in enumerate(workload.trace.submitted)
    ]


def _training(workload: Workload, row: int) -> Training:
    """A measured application if the job is exactly one whole training of it; any other follows its curve."""
    trace = workload.trace
    application = applications().get(trace.models[row])
    if application is not None:
        iterations = application.iterations.get(int(trace.batch[row]))
        if iterations == trace.steps[row]:
            return Measured(application, int(workload.cluster.slots[0]))
    return curve_of(workload, row)


def _outcome(workload: Workload, jobs: list[Job], log: Log) -> Outcome:
    trace = workload.trace
    finished = np.array([job.finished for job in jobs])
    return Outcome(
        admitted=frozen(np.ones(len(jobs), dtype=np.bool_)),
        started=frozen(np.array([job.started for job in jobs])),
        finished=frozen(finished),
        met=frozen((finished <= trace.deadline) & ~trace.best_effort),
        promised=frozen(np.full(len(jobs), np.nan)),
        last_size=frozen(np.array([job.last_size for job in jobs], dtype=np.int64)),
        changes=frozen(np.array([job.changes for job in jobs], dtype=np.int64)),
        preempted=frozen(np.array([job.preempted for job in jobs], dtype=np.int64)),
        reason=("",) * len(jobs),
        events=log.events(),
    )
