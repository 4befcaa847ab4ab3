"""What a replay amounts to: the numbers that people compare."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tenuto.model.columns import Floats
from tenuto.sim.outcome import Outcome
from tenuto.sim.workload import Workload


@dataclass(frozen=True, slots=True)
class Summary:
    """One policy on one trace. The names are the keys of `tenuto replay --json` and do not change."""

    policy: str
    trace: str
    cluster: str
    slot: float
    compat: str | None
    """The revision of the reference whose semantics were used, null for our own."""
    deadline_jobs: int
    best_effort_jobs: int
    admitted: int
    """Deadline jobs that were not refused at arrival."""
    declined: int
    """Deadline jobs that were refused at arrival."""
    met: int
    missed: int
    """Deadline jobs that finished late."""
    broken: int
    """Jobs with a promise that finished late."""
    ratio: float | None
    """met / deadline_jobs; null if there are none."""
    mean_jct: float | None
    """Mean seconds from submission to finish, over all finished jobs."""
    median_jct: float | None
    makespan: float | None
    """Seconds from the first submission to the last finish."""
    mean_efficiency: float | None
    """Time average of the cluster efficiency: work per second relative to single slots, per slot."""
    mean_allocated: float | None
    """Time average of the allocated slots."""
    rounds: int
    cpu_s: float
    """CPU seconds of the replay itself, without imports and compilation."""
    compile_s: float
    """CPU seconds that compiling and loading the kernels took before it."""

    @property
    def accepted(self) -> int:
        """What the reference prints as accepted: deadlines met."""
        return self.met

    @property
    def not_accepted(self) -> int:
        """What the reference prints as declined: refused or late."""
        return self.deadline_jobs - self.met


def summarise(
    workload: Workload, outcome: Outcome, *, policy: str, slot: float, compat: str | None
) -> Summary:
    """Count and average what happened."""
    trace = workload.trace
    with_deadline = ~trace.best_effort
    done = ~np.isnan(outcome.finished)
    jct = (outcome.finished - trace.submitted)[done]
    met = int(np.count_nonzero(outcome.met & with_deadline))
    jobs = int(np.count_nonzero(with_deadline))
    promised = ~np.isnan(outcome.promised)
    # After an early stop there are jobs that were neither admitted nor refused.
    refused = np.array([reason != "" for reason in outcome.reason], dtype=np.bool_)
    end = float(outcome.finished[done].max()) if len(jct) else None
    return Summary(
        policy=policy,
        trace=trace.name,
        cluster=workload.cluster.name,
        slot=slot,
        compat=compat,
        deadline_jobs=jobs,
        best_effort_jobs=len(trace) - jobs,
        admitted=int(np.count_nonzero(outcome.admitted & with_deadline)),
        declined=int(np.count_nonzero(refused & with_deadline)),
        met=met,
        missed=int(np.count_nonzero(done & with_deadline & ~outcome.met)),
        broken=int(np.count_nonzero(promised & done & ~outcome.met)),
        ratio=met / jobs if jobs else None,
        mean_jct=float(jct.mean()) if len(jct) else None,
        median_jct=float(np.median(jct)) if len(jct) else None,
        makespan=None if end is None else end - float(trace.submitted.min()),
        mean_efficiency=_time_average(outcome, outcome.events.efficiency, end),
        mean_allocated=_time_average(outcome, outcome.events.busy.astype(np.float64), end),
        rounds=len(outcome.events.time),
        cpu_s=outcome.cpu_s,
        compile_s=outcome.compile_s,
    )


def _time_average(outcome: Outcome, column: Floats, end: float | None) -> float | None:
    """Average a column of the events over the time until the last finish."""
    if end is None:
        return None
    edges = np.minimum(np.append(outcome.events.time, end), end)
    span = edges[-1] - edges[0]
    return float(np.dot(column, np.diff(edges)) / span) if span > 0 else float(column[-1])
