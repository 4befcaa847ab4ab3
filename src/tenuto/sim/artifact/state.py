"""The state of a replay: one row per job, lists of jobs, and the rules that hold throughout."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tenuto.errors import InputInvalid
from tenuto.model.cluster import Cluster
from tenuto.model.columns import Floats, Ints
from tenuto.sim.artifact.levels import LEVELS
from tenuto.sim.artifact.limits import rates_by_level
from tenuto.sim.workload import Workload

NEVER = 2.0**63
"""The reference's stand-in for a time that never comes, such as the deadline of a best-effort job."""

FUTURE, PENDING, RUNNING, ENDED, DECLINED = range(5)
"""Phases of a job. A job that was started once stays RUNNING, even while it holds no GPU."""

Rows = NDArray[np.void]
"""A table; without another word one of jobs, of type JOB."""

JOB = np.dtype(
    [
        # The trace.
        ("submitted", np.float64),
        ("deadline", np.float64),
        ("best_effort", np.bool_),
        ("limit", np.int64),  # highest level that the job may get, however small the cluster is
        ("rate", np.float64, (LEVELS,)),  # iterations per second at each level
        # What the reference remembers.
        ("phase", np.int64),
        ("left", np.float64),  # iterations still to do
        ("gpus", np.int64),
        ("end", np.float64),  # predicted, whole slots and overhead included: what the log calls the end
        ("real_end", np.float64),  # predicted end of the work itself (ElasticFlow only)
        ("event", np.float64),  # when the end event fires, infinity if there is none; it may be stale
        ("overhead", np.float64),  # seconds lost at the beginning of the coming interval
        ("cell", np.int64),  # first GPU, nodes counted in the order in which they are filled
        ("rank", np.int64),  # first GPU, nodes counted in the order of the cluster
        # What is reported.
        ("started", np.float64),
        ("finished", np.float64),
        ("promised", np.float64),
        ("met", np.bool_),
        ("last_size", np.int64),
        ("changes", np.int64),
        ("preempted", np.int64),
        ("held", np.int64),  # GPUs after the previous event
        ("held_rank", np.int64),
        # Scratch paper.
        ("key", np.float64),  # what jobs are sorted by
        ("old_end", np.float64),  # predicted end before the event
        ("target", np.int64),  # level that the job would get next
        ("plan", np.int64),  # first step of ElasticFlow's plan
        ("plan_end", np.int64),  # the step behind its last
        ("planned_gpus", np.int64),  # share and end in a plan of EDF that may be dropped
        ("planned_end", np.float64),
    ],
    align=True,
)


class Rules(NamedTuple):
    """Numbers that hold for a whole replay."""

    total: int
    """All GPUs of the cluster."""
    per_node: int
    slot: float
    refresh: bool
    """Whether growing a job renews its real end: so at the head of the reference, not in 2022 (E1)."""


class Queue(NamedTuple):
    """An ordered list of jobs; ties of later sorts depend on the order that earlier ones left."""

    jobs: Ints
    size: Ints
    """One number."""


class Alarms(NamedTuple):
    """Times of planned changes, ascending, each once."""

    time: Floats
    size: Ints
    """One number."""


class Roster(NamedTuple):
    """All lists of jobs, and the planned changes."""

    queue: Queue
    """Jobs that wait or run, in the order that the reference calls runnable."""
    running: Queue
    """Jobs that were started, in the order of their start (ElasticFlow without admission control only)."""
    pending: Queue
    """Jobs that were never started, in the order of their submission (the same)."""
    lineup: Queue
    """A sorted copy of the queue (EDF only)."""
    alarms: Alarms
    spare: Ints
    """Room for sorting."""


def roster_for(jobs: int) -> Roster:
    """Make empty lists with room for so many jobs."""
    return Roster(
        queue=queue_for(jobs),
        running=queue_for(jobs),
        pending=queue_for(jobs),
        lineup=queue_for(jobs),
        alarms=Alarms(np.zeros(jobs + 1), np.zeros(1, dtype=np.int64)),
        spare=np.zeros(jobs, dtype=np.int64),
    )


def queue_for(jobs: int) -> Queue:
    """Make an empty list with room for so many jobs."""
    return Queue(np.zeros(jobs, dtype=np.int64), np.zeros(1, dtype=np.int64))


def rows_of(workload: Workload, limits: Ints) -> Rows:
    """Lay out a workload for the kernels, all jobs before their submission."""
    trace = workload.trace
    rows: Rows = np.zeros(len(trace), dtype=JOB)
    rows["submitted"] = trace.submitted
    rows["deadline"] = np.where(trace.best_effort, NEVER, trace.deadline)
    rows["best_effort"] = trace.best_effort
    rows["limit"] = limits
    rows["rate"] = rates_by_level(workload)
    rows["left"] = trace.steps
    rows["event"] = np.inf
    for column in ("started", "finished", "promised"):
        rows[column] = np.nan
    return rows


def rules_for(cluster: Cluster, slot: float, *, refresh: bool) -> Rules:
    """Check what the reference takes for granted."""
    if slot < 1 or slot != int(slot):
        raise InputInvalid(
            f"a slot of {slot:g} s is no whole number of seconds",
            remedy="The reference knows whole seconds only: round --slot, or replay without --compat",
        )
    sizes = set(cluster.slots.tolist())
    if len(sizes) != 1:
        raise InputInvalid(
            f"the nodes of cluster {cluster.name} have different numbers of slots",
            remedy="The reference knows equal nodes only: choose such a cluster, or replay without --compat",
        )
    return Rules(cluster.total, int(sizes.pop()), float(slot), refresh)
