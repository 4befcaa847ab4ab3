"""What a trace is like, in numbers: how many jobs, how large, how long, how urgent, how much they ask for."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tenuto.model.columns import Floats, Ints, frozen

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tenuto.model.cluster import Cluster
    from tenuto.sim.trace import Trace

HOUR_S = 3600.0
DAY_S = 24 * HOUR_S

QUANTILES = {"min": 0.0, "p25": 0.25, "median": 0.5, "p75": 0.75, "p95": 0.95, "max": 1.0}


@dataclass(frozen=True)
class Load:
    """Slots asked for over time, if every job began when it was submitted and ran on what it requested."""

    begins: Floats
    """When each stretch of constant demand begins; the last one begins when all is over."""
    slots: Floats
    """Demand from there on."""

    @property
    def peak(self) -> float:
        """The highest demand."""
        return float(self.slots.max())

    def until(self, end: float) -> Load:
        """Cut off what comes later: a few long jobs run on for days after the last submission."""
        kept = self.begins < end
        return Load(frozen(np.append(self.begins[kept], end)), frozen(np.append(self.slots[kept], 0.0)))

    @property
    def mean(self) -> float:
        """Demand averaged over the time."""
        return float(np.average(self.slots[:-1], weights=np.diff(self.begins)))

    def share_above(self, slots: int) -> float:
        """Share of the time in which more is asked for than there is."""
        return float(np.average(self.slots[:-1] > slots, weights=np.diff(self.begins)))


@dataclass(frozen=True, slots=True)
class Description:
    """The numbers that characterise a trace. Times are seconds."""

    name: str
    jobs: int
    best_effort_share: float
    first_submission: float
    last_submission: float
    jobs_per_day: float
    jobs_in_peak_hour: int
    sizes: Mapping[int, int]
    """How many jobs request each number of slots."""
    models: Mapping[str, int]
    """How many jobs train each model, most frequent first."""
    duration: Mapping[str, float]
    tightness: Mapping[str, float]
    """Time until the deadline as a multiple of the duration; empty if all jobs are best effort."""
    requested_slot_hours: float
    mean_load: float
    """Slots asked for on average, from the first to the last submission."""
    peak_load: float
    cluster: str | None = None
    cluster_slots: int | None = None
    mean_load_share: float | None = None
    """Mean demand relative to the cluster."""
    time_over_capacity: float | None = None
    """Share of the time until the last submission in which more is asked for than the cluster has."""


def describe(trace: Trace, cluster: Cluster | None = None) -> Description:
    """Characterise a trace, and its demand relative to a cluster if one is given."""
    submitted = trace.submitted
    span = float(submitted[-1] - submitted[0])
    whole_load = load_of(trace)
    load = whole_load.until(float(submitted[-1])) if span else whole_load
    return Description(
        name=trace.name,
        jobs=len(trace),
        best_effort_share=float(trace.best_effort.mean()),
        first_submission=float(submitted[0]),
        last_submission=float(submitted[-1]),
        # A trace shorter than a day counts as one day: nothing is known about the rest of it.
        jobs_per_day=len(trace) * DAY_S / max(span, DAY_S),
        jobs_in_peak_hour=int(arrivals_per_hour(trace).max()),
        sizes=dict(sorted(Counter(trace.requested.tolist()).items())),
        models=dict(Counter(trace.models).most_common()),
        duration=_quantiles(trace.duration),
        tightness=_quantiles(tightness_of(trace)),
        requested_slot_hours=float((trace.requested * trace.duration).sum() / HOUR_S),
        mean_load=load.mean,
        peak_load=whole_load.peak,
        cluster=None if cluster is None else cluster.name,
        cluster_slots=None if cluster is None else cluster.total,
        mean_load_share=None if cluster is None else load.mean / cluster.total,
        time_over_capacity=None if cluster is None else load.share_above(cluster.total),
    )


def arrivals_per_hour(trace: Trace) -> Ints:
    """Count submissions in each hour since the first one."""
    hours = ((trace.submitted - trace.submitted[0]) // HOUR_S).astype(np.int64)
    return frozen(np.bincount(hours).astype(np.int64))


def tightness_of(trace: Trace) -> Floats:
    """For each job with a deadline the time it is given as a multiple of its duration."""
    urgent = ~trace.best_effort
    return frozen((trace.deadline[urgent] - trace.submitted[urgent]) / trace.duration[urgent])


def load_of(trace: Trace) -> Load:
    """Add up what all jobs ask for over time."""
    times = np.concatenate([trace.submitted, trace.submitted + trace.duration])
    changes = np.concatenate([trace.requested, -trace.requested])
    begins, stretch = np.unique(times, return_inverse=True)
    slots = np.cumsum(np.bincount(stretch, weights=changes)).astype(np.float64)
    return Load(frozen(begins), frozen(slots))


def _quantiles(numbers: Floats) -> dict[str, float]:
    if not len(numbers):
        return {}
    values = np.quantile(numbers, list(QUANTILES.values()))
    return dict(zip(QUANTILES, values.tolist(), strict=True))
