"""The state of a replay in columns: what never changes, what every event changes, and what is reported."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tenuto.model.columns import Flags, Floats, Ints
from tenuto.sim.artifact.limits import rates_by_level
from tenuto.sim.workload import Workload

NEVER = 2.0**63
"""The reference's stand-in for a time that never comes, such as the deadline of a best-effort job."""

FUTURE, PENDING, RUNNING, ENDED, DECLINED = range(5)
"""Phases of a job. A job that was started once stays RUNNING, even while it holds no GPU."""


class Rules(NamedTuple):
    """Numbers that hold for a whole replay."""

    total: int
    """All GPUs of the cluster."""
    per_node: int
    nodes: int
    slot: float
    refresh: bool
    """Whether growing a job renews its real end: so at the head of the reference, not in 2022 (E1)."""


class Jobs(NamedTuple):
    """The trace, in order of submission."""

    submitted: Floats
    deadline: Floats
    best_effort: Flags
    rate: Floats
    """Iterations per second of each job at each level."""
    limit: Ints
    """Highest level that each job may get, however small the cluster is."""


class Live(NamedTuple):
    """What the reference remembers of each job."""

    phase: Ints
    left: Floats
    """Iterations still to do."""
    gpus: Ints
    end: Floats
    """Predicted end, whole slots and overhead included; it is what the log calls the end."""
    real_end: Floats
    """Predicted end of the work itself (ElasticFlow only)."""
    event: Floats
    """When the job's end event fires; infinity if it has none. It may be stale."""
    overhead: Floats
    """Seconds lost at the beginning of the coming interval."""
    cell: Ints
    """The first cell of the job, nodes counted in the order in which they are filled."""
    rank: Ints
    """The first GPU of the job, nodes counted in the order of the cluster."""


class Books(NamedTuple):
    """What is reported of each job."""

    started: Floats
    finished: Floats
    promised: Floats
    met: Flags
    last_size: Ints
    changes: Ints
    preempted: Ints
    held: Ints
    """GPUs after the previous event."""
    held_rank: Ints


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


class Clock(NamedTuple):
    """Where the replay stands; each field is one number."""

    now: Floats
    elapsed: Floats
    """Whole seconds since the previous event."""
    reach: Floats
    """Events up to this time were merged into the present one."""
    arrived: Ints
    """Jobs whose submission was handled."""
    rounds: Ints
    done: Ints
    """Jobs that ended or were declined."""
    over: Ints


def jobs_of(workload: Workload, limits: Ints) -> Jobs:
    """Lay out a workload for the kernels."""
    trace = workload.trace
    return Jobs(
        np.array(trace.submitted, dtype=np.float64),
        np.where(trace.best_effort, NEVER, trace.deadline).astype(np.float64),
        np.array(trace.best_effort, dtype=np.bool_),
        rates_by_level(workload),
        limits,
    )


def live_of(workload: Workload) -> Live:
    """Set up all jobs before their submission."""
    jobs = len(workload.trace)
    return Live(
        phase=_ints(jobs, FUTURE),
        left=np.array(workload.trace.steps, dtype=np.float64),
        gpus=_ints(jobs, 0),
        end=np.zeros(jobs),
        real_end=np.zeros(jobs),
        event=np.full(jobs, np.inf),
        overhead=np.zeros(jobs),
        cell=_ints(jobs, -1),
        rank=_ints(jobs, -1),
    )


def books_of(jobs: int) -> Books:
    """Open empty books."""
    return Books(
        started=np.full(jobs, np.nan),
        finished=np.full(jobs, np.nan),
        promised=np.full(jobs, np.nan),
        met=np.zeros(jobs, dtype=np.bool_),
        last_size=_ints(jobs, 0),
        changes=_ints(jobs, 0),
        preempted=_ints(jobs, 0),
        held=_ints(jobs, 0),
        held_rank=_ints(jobs, -1),
    )


def queue_for(jobs: int) -> Queue:
    """Make an empty list with room for all jobs."""
    return Queue(_ints(jobs, 0), _ints(1, 0))


def alarms_for(jobs: int) -> Alarms:
    """Make room for the planned changes of so many jobs."""
    return Alarms(np.zeros(64 * jobs + 8), _ints(1, 0))


def clock_at(first: float) -> Clock:
    """Set the clock to the first submission."""
    return Clock(
        now=np.array([first]),
        elapsed=np.zeros(1),
        reach=np.array([first]),
        arrived=_ints(1, 0),
        rounds=_ints(1, 0),
        done=_ints(1, 0),
        over=_ints(1, 0),
    )


def _ints(count: int, value: int) -> Ints:
    return np.full(count, value, dtype=np.int64)
