"""What the reference's policies with fixed sizes report: everybody is admitted, nobody is promised anything."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from tenuto.model.columns import Ints, frozen
from tenuto.sim.outcome import Events, Outcome
from tenuto.sim.workload import Workload


def events_of(log: NDArray[np.void], layouts: Sequence[Ints] | None) -> Events:
    """Turn a table with time, efficiency, busy, running and waiting into events."""
    return Events(
        time=frozen(log["time"].copy()),
        efficiency=frozen(log["efficiency"].copy()),
        busy=frozen(log["busy"].copy()),
        running=frozen(log["running"].copy()),
        waiting=frozen(log["waiting"].copy()),
        layouts=None if layouts is None else tuple(layouts),
    )


def outcome_of(workload: Workload, jobs: NDArray[np.void], events: Events) -> Outcome:
    """Turn a table with started, finished, changes and preempted into an outcome. All jobs have ended.

    A job that ran between two events only was started too, although no event shows it.
    """
    trace = workload.trace
    return Outcome(
        admitted=frozen(np.ones(len(trace), dtype=np.bool_)),
        started=frozen(jobs["started"].copy()),
        finished=frozen(jobs["finished"].copy()),
        met=frozen((jobs["finished"] <= trace.deadline) & ~trace.best_effort),
        promised=frozen(np.full(len(trace), np.nan)),
        last_size=trace.requested,
        changes=frozen(np.maximum(jobs["changes"], 1)),
        preempted=frozen(jobs["preempted"].copy()),
        reason=("",) * len(trace),
        events=events,
    )
