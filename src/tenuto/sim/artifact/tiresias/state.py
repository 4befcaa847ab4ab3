"""Tiresias's book: jobs, the queues in which they stand, and the clock."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tenuto.model.columns import Floats, Ints
from tenuto.sim.artifact.fixed_size import speeds
from tenuto.sim.artifact.overhead import costs_of
from tenuto.sim.artifact.state import Rules
from tenuto.sim.workload import Workload

THRESHOLDS: Floats = np.array([3250.0, 7200.0])
"""GPU-seconds of service after which a job leaves the first and the second queue; nobody leaves the third."""
QUEUES = len(THRESHOLDS) + 1

WAITING, RUNNING, ENDED = range(3)

JOB = np.dtype(
    [
        ("submitted", np.float64),
        ("gpus", np.int64),
        ("duration", np.float64),
        ("price", np.float64, (2,)),  # overhead on an ordinary and on a restart round
        ("speedup", np.float64),
        ("phase", np.int64),
        ("queue", np.int64),
        ("executed", np.float64),  # whole seconds
        ("seen", np.float64),  # up to when it is executed
        ("overhead", np.float64),  # seconds to be lost before more is executed
        ("end", np.float64),  # predicted
        ("due", np.bool_),  # ends with the next end event
        ("started", np.float64),
        ("finished", np.float64),
        ("changes", np.int64),  # starts and stops; moving costs nothing and is not counted
        ("preempted", np.int64),
    ],
    align=True,
)
CLOCK = np.dtype(
    [
        ("now", np.float64),
        ("arrival", np.float64),  # next arrivals; infinity if there are none
        ("reach", np.float64),  # submissions up to then were merged into them
        ("end", np.float64),  # next end event; infinity if nobody runs
        ("jump", np.float64),  # when the next job may have to leave its queue; infinity if none can
        ("arrived", np.int64),
        ("ended", np.int64),
        ("rounds", np.int64),
        # What never changes.
        ("total", np.int64),  # GPUs of the cluster
        ("slot", np.float64),
        ("together", np.bool_),  # whether all ends within a slot are one event
    ],
    align=True,
)


class Book(NamedTuple):
    """Everything that a step works on."""

    jobs: NDArray[np.void]
    lists: Ints
    """A row for each queue, and in the last one all jobs by size; jobs of one size as they arrived."""
    length: Ints
    """How many jobs stand in each row."""
    spare: Ints
    clock: NDArray[np.void]
    """One row."""


BY_SIZE = QUEUES
"""The row of all jobs."""


def book_of(workload: Workload, rules: Rules, *, together: bool) -> Book:
    """Set up an idle cluster before the first arrival."""
    count, first = len(workload.trace), workload.trace.submitted[0]
    clock = np.zeros(1, dtype=CLOCK)
    clock["arrival"], clock["reach"] = first, first
    clock["end"], clock["jump"] = np.inf, np.inf
    clock["total"], clock["slot"], clock["together"] = rules.total, rules.slot, together
    return Book(
        jobs=_jobs_of(workload, rules),
        lists=np.zeros((QUEUES + 1, count), dtype=np.int64),
        length=np.zeros(QUEUES + 1, dtype=np.int64),
        spare=np.zeros(count, dtype=np.int64),
        clock=clock,
    )


def _jobs_of(workload: Workload, rules: Rules) -> NDArray[np.void]:
    trace = workload.trace
    speed, alone = speeds(workload)
    jobs: NDArray[np.void] = np.zeros(len(trace), dtype=JOB)
    jobs["submitted"] = trace.submitted
    jobs["gpus"] = trace.requested
    jobs["duration"] = trace.duration
    jobs["price"] = costs_of(rules.total).fresh[:, np.log2(trace.requested).astype(np.int64)].T
    jobs["speedup"] = speed / alone
    jobs["started"] = np.nan
    jobs["finished"] = np.nan
    return jobs
