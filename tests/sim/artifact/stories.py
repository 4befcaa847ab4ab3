"""Small workloads for tests: a cluster and some jobs, valid by default."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import inf

import numpy as np

from tenuto.model.cluster import Cluster
from tenuto.model.columns import frozen
from tenuto.model.curve import Curve, Profiles
from tenuto.sim.artifact import Revision, replay
from tenuto.sim.outcome import Outcome
from tenuto.sim.trace import Trace
from tenuto.sim.workload import Workload, resolve

LINEAR: Mapping[int, float] = {1: 1.0, 2: 2.0, 4: 4.0, 8: 8.0}
EIGHT_GPUS = Cluster.regular("eight", nodes=1, slots=8)


@dataclass(frozen=True)
class Submitted:
    """A job. Without a deadline it is best effort."""

    at: float = 0.0
    steps: float = 600.0
    deadline: float = 10_000.0
    model: str = "toy"
    batch: int = 64
    requested: int = 1
    rates: Mapping[int, float] = field(default_factory=lambda: LINEAR)


def a_story(
    jobs: Sequence[Submitted], *, cluster: Cluster = EIGHT_GPUS, profiles: Profiles | None = None
) -> Workload:
    """Put jobs, in the order of their submission, on a cluster. By default each has its own curve."""
    if profiles is None:
        curves = {(f"{job.model}-{row}", job.batch): Curve(job.rates) for row, job in enumerate(jobs)}
        profiles = Profiles("toys", "test", curves)
        names = tuple(f"{job.model}-{row}" for row, job in enumerate(jobs))
    else:
        names = tuple(job.model for job in jobs)
    deadline = np.array([job.deadline for job in jobs])
    trace = Trace(
        name="story",
        source="story",
        ids=tuple(map(str, range(len(jobs)))),
        models=names,
        batch=frozen(np.array([job.batch for job in jobs])),
        submitted=frozen(np.array([job.at for job in jobs])),
        steps=frozen(np.array([job.steps for job in jobs])),
        deadline=frozen(deadline),
        best_effort=frozen(deadline == inf),
        requested=frozen(np.array([job.requested for job in jobs])),
        duration=frozen(np.array([job.steps for job in jobs])),
        position=frozen(np.arange(len(jobs))),
        line=frozen(np.arange(len(jobs)) + 2),
    )
    return resolve(trace, profiles, cluster)


def told(
    jobs: Sequence[Submitted],
    policy: str = "elasticflow",
    *,
    cluster: Cluster = EIGHT_GPUS,
    slot: float = 60,
    layouts: bool = False,
) -> Outcome:
    """Replay jobs on a cluster."""
    workload = a_story(jobs, cluster=cluster)
    return replay(workload, policy, slot=slot, revision=Revision.HEAD, layouts=layouts)
