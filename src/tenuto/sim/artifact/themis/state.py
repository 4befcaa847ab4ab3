"""The state of a replay under Themis: one row per job, the queue, the clock and the log."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tenuto.model.columns import Floats, Ints
from tenuto.sim.artifact.fixed_size import speeds
from tenuto.sim.workload import Workload

Rows = NDArray[np.void]
"""A table; without another word one of jobs, of type JOB."""

JOB = np.dtype(
    [
        # The trace.
        ("submitted", np.float64),
        ("deadline", np.float64),
        ("gpus", np.int64),
        ("rate", np.float64),  # iterations per second
        ("speed", np.float64),  # the same relative to one GPU
        # What the reference remembers.
        ("left", np.float64),  # iterations still to do
        ("left_before", np.float64),  # the same in the previous round
        ("seconds_left", np.float64),
        ("fraction", np.float64),  # of its GPUs that an equal share would be; 0 before the first round
        ("alone", np.float64),  # iterations done, each divided by the fraction of its round
        # What one round decides.
        ("demand", np.float64),  # share of the time that the job needs at least
        ("share", np.float64),  # share of the time that it gets: what jobs are sorted by
        ("chosen", np.bool_),
        ("ending", np.bool_),  # at the end of the round
        # What is reported.
        ("started", np.float64),
        ("finished", np.float64),
        ("held", np.bool_),  # GPUs in the previous round
        ("changes", np.int64),
        ("preempted", np.int64),
    ],
    align=True,
)

SIZE, ARRIVED, DONE = range(3)
NOW, HANDLED = range(2)


class Book(NamedTuple):
    """Who is there, and what time it is."""

    queue: Ints
    """Jobs that wait or run; each congested round sorts them, and ties keep the order of earlier rounds."""
    counts: Ints
    """SIZE of the queue; jobs that have ARRIVED; jobs that are DONE."""
    clock: Floats
    """NOW; when something was last HANDLED, an arrival or an end."""


def rows_of(workload: Workload) -> Rows:
    """Lay out a workload for the kernels, all jobs before their submission."""
    trace = workload.trace
    rate, alone = speeds(workload)
    rows: Rows = np.zeros(len(trace), dtype=JOB)
    rows["submitted"] = trace.submitted
    rows["deadline"] = trace.deadline
    rows["gpus"] = trace.requested
    rows["rate"] = rate
    rows["speed"] = rate / alone
    rows["left"] = trace.steps
    rows["seconds_left"] = trace.duration
    rows["started"] = np.nan
    rows["finished"] = np.nan
    return rows


def book_of(workload: Workload) -> Book:
    """Begin with an empty queue at the first submission."""
    first = float(workload.trace.submitted[0])
    return Book(
        np.zeros(len(workload.trace), dtype=np.int64), np.zeros(3, dtype=np.int64), np.array([first, first])
    )
