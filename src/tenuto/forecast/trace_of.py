"""From jobs of the past to a trace that the simulator can run: rows, distinct curves under stable names, a cluster."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import floor, inf

import numpy as np

from tenuto.forecast.past import LeftOut, TraceJob
from tenuto.forecast.rates import Rates
from tenuto.model.cluster import Cluster
from tenuto.model.columns import frozen
from tenuto.model.curve import Curve, Profiles
from tenuto.sim.trace import Trace, in_order_of_submission
from tenuto.sim.workload import Workload, resolve


@dataclass(frozen=True)
class Told:
    """A workload, and what is not in it."""

    workload: Workload
    zero: float
    """The Unix time at which the trace begins, in whole seconds."""
    guessed: Mapping[str, int]
    """How many rows are not quite what was, by `Guess`."""
    left_out: Mapping[str, int]
    """How many jobs are missing, by `LeftOut`."""


def curve_name(rates: Rates) -> str:
    """A name that every export gives to this curve and to no other."""
    written = ";".join(f"{size}:{rate!r}" for size, rate in rates)
    return f"curve-{hashlib.sha256(written.encode()).hexdigest()[:10]}"


def told(jobs: Iterable[TraceJob | str], cluster: Cluster, name: str) -> Told:
    """The workload of those jobs that a cluster can run; a text says why one is left out.

    Raises ValueError if none is left.
    """
    left_out: Counter[str] = Counter()
    rows: list[TraceJob] = []
    for job in jobs:
        if isinstance(job, str):
            left_out[str(job)] += 1
        elif job.rates[0][0] > cluster.total:
            left_out[LeftOut.NOWHERE.value] += 1
        else:
            rows.append(job)
    if not rows:
        raise ValueError("there is no job to tell of")
    zero = float(floor(min(job.arrived for job in rows)))
    profiles = Profiles("profiles", name, {_key(job): Curve(dict(job.rates)) for job in rows})
    guessed = Counter(str(guess) for job in rows for guess in job.guesses)
    return Told(resolve(_trace(rows, cluster, name, zero), profiles, cluster), zero, guessed, left_out)


def cluster_of(slots: Mapping[str, int], name: str) -> Cluster:
    """Nodes under one switch."""
    return Cluster(
        name=name,
        slots=frozen(np.array(list(slots.values()), dtype=np.int64)),
        switch=frozen(np.zeros(len(slots), dtype=np.int64)),
        node_names=tuple(slots),
    )


def size_for(rates: Rates, wanted: int, within: int) -> int:
    """The largest size up to the wanted one that can be had, else the smallest there is."""
    fitting = [size for size, _ in rates if size <= min(wanted, within)]
    return fitting[-1] if fitting else rates[0][0]


def _key(job: TraceJob) -> tuple[str, int]:
    return curve_name(job.rates), job.batch


def _trace(rows: Sequence[TraceJob], cluster: Cluster, name: str, zero: float) -> Trace:
    requested = [size_for(job.rates, job.wanted, cluster.total) for job in rows]
    numbers = np.arange(len(rows), dtype=np.int64)
    deadline = np.array([inf if job.deadline is None else job.deadline - zero for job in rows])
    return in_order_of_submission(
        Trace(
            name=name,
            source=name,
            ids=tuple(job.id for job in rows),
            models=tuple(curve_name(job.rates) for job in rows),
            batch=np.array([job.batch for job in rows], dtype=np.int64),
            submitted=np.array([job.arrived - zero for job in rows]),
            steps=np.array([job.steps for job in rows]),
            deadline=deadline,
            best_effort=np.isinf(deadline),
            requested=np.array(requested, dtype=np.int64),
            duration=np.array(
                [job.steps / dict(job.rates)[size] for job, size in zip(rows, requested, strict=True)]
            ),
            position=numbers,
            line=frozen(numbers + 2),
        )
    )
