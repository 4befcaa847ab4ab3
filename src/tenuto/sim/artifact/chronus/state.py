"""The state of a replay under Chronus: one row per job, two lists of jobs, and the leases that are planned."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tenuto.model.columns import Ints
from tenuto.sim.artifact.fixed_size import speeds
from tenuto.sim.workload import Workload

LEASE = 240
"""Seconds of a lease. New jobs are looked at, and free GPUs given away, as often."""

LOST, PROMISED, UNPROMISED = range(-1, 2)
"""Standings of a job: it cannot be in time; it was promised leases; it runs where GPUs are free."""

_SLACK = 1.1
"""Estimates are so much longer than durations."""
_RESUME = 0.5
"""Seconds that a start costs, once for each doubling of the size and once more. Minutes were meant (Q18)."""

Rows = NDArray[np.void]
"""A table; without another word one of jobs, of type JOB."""
Row = Any
"""A row of a table, with its columns as attributes."""

JOB = np.dtype(
    [
        # The trace.
        ("submitted", np.float64),
        ("deadline", np.float64),
        ("duration", np.float64),
        ("gpus", np.int64),
        ("speed", np.float64),  # relative to one GPU
        ("estimate", np.float64),  # seconds of work to plan for
        ("resume_cost", np.float64),
        # What the reference remembers.
        ("standing", np.int64),
        ("due", np.float64),  # what the end is judged by; rounded down to a lease for promised jobs (Q18)
        ("last_lease", np.int64),  # leases before this one end before the deadline
        ("need", np.int64),  # leases still needed
        ("progress", np.float64),  # seconds done
        ("last", np.float64),  # when progress was last counted
        ("resumed", np.int64),
        ("leased", np.bool_),  # runs on a lease, not on what was left over
        ("overdue", np.bool_),  # took longer than estimated
        ("planned", np.bool_),
        ("plan", np.int64),  # its next lease in the list of leases
        ("plan_end", np.int64),  # the place behind its last
        ("urgency", np.float64),
        # What is reported.
        ("started", np.float64),
        ("finished", np.float64),
        ("promised", np.float64),
        ("held", np.bool_),  # GPUs after the previous step
        ("changes", np.int64),
        ("preempted", np.int64),
    ],
    align=True,
)

PENDING, RUNNING, ARRIVED, DONE, NOW, INDEX, HORIZON, OPEN, BEHIND = range(9)


class Book(NamedTuple):
    """Who is there, what is planned, and what time it is."""

    pending: Ints
    running: Ints
    spare: Ints
    """Room for sorting, and for the newcomers of one step."""
    leases: Ints
    """The plans of all jobs: numbers of leases, ascending for each job."""
    room: Ints
    """GPUs that nobody has planned, for each lease."""
    counts: Ints
    """Jobs PENDING, RUNNING, that have ARRIVED, that are DONE; the second NOW; the INDEX of the next lease; the
    HORIZON behind which no lease was ever planned; whether a lease is OPEN, so that somebody must plan it; whether
    somebody was left BEHIND without a promise."""


def rows_of(workload: Workload) -> Rows:
    """Lay out a workload for the kernels, all jobs before their submission."""
    trace = workload.trace
    rate, alone = speeds(workload)
    doublings = 1.0 + np.log2(trace.requested)
    rows: Rows = np.zeros(len(trace), dtype=JOB)
    rows["submitted"] = trace.submitted
    rows["deadline"] = trace.deadline
    rows["duration"] = trace.duration
    rows["gpus"] = trace.requested
    rows["speed"] = rate / alone
    rows["estimate"] = np.floor(trace.duration * (1.0 + doublings * _RESUME / LEASE) * _SLACK)
    rows["resume_cost"] = _RESUME * doublings
    rows["standing"] = UNPROMISED
    rows["due"] = trace.deadline
    rows["last_lease"] = np.floor(np.where(trace.best_effort, 0.0, trace.deadline) / LEASE)
    rows["need"] = np.ceil(rows["estimate"] / LEASE)
    for column in ("started", "finished", "promised"):
        rows[column] = np.nan
    _give_room_for_plans(rows)
    return rows


def _give_room_for_plans(rows: Rows) -> None:
    """Give each job that may be promised something a stretch in the list of leases."""
    size = np.where(rows["need"] <= rows["last_lease"], rows["need"], 0)
    rows["plan_end"] = np.cumsum(size)
    rows["plan"] = rows["plan_end"] - size


def book_of(rows: Rows, total: int) -> Book:
    """Begin with empty lists at second 0, whenever the first job comes."""
    jobs = len(rows)
    return Book(
        pending=np.zeros(jobs, dtype=np.int64),
        running=np.zeros(jobs, dtype=np.int64),
        spare=np.zeros(jobs, dtype=np.int64),
        leases=np.zeros(int(rows["plan_end"][-1]), dtype=np.int64),
        room=np.full(int(rows["last_lease"].max()) + 1, total, dtype=np.int64),
        counts=np.zeros(9, dtype=np.int64),
    )
