"""When there will be something to do although nothing happens: time-outs, back-offs, limits, promises. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import inf

from tenuto.engines.base import Observation
from tenuto.engines.listening_clock import BEAT_SECONDS
from tenuto.live.promise import PATIENCE
from tenuto.live.reconcile import Watch
from tenuto.model.job import Job
from tenuto.model.node import Node, NodeState
from tenuto.model.phase import OPEN_PROMISES, PLACED


def next_moment(
    jobs: Iterable[Job], nodes: Mapping[str, Node], seen: Observation, watch: Watch, now: float
) -> float:
    """The first moment after now at which a job or a node needs attention; `inf` for never."""
    moments = [moment for job in jobs for moment in _of_job(job)]
    for name, node in nodes.items():
        if node.state is not NodeState.OFFLINE:
            moments.append(now + max(watch.remaining(seen, name), BEAT_SECONDS))
    return min((moment for moment in moments if moment > now), default=inf)


def _of_job(job: Job) -> Iterable[float]:
    if job.phase in PLACED:
        yield job.not_before
        if job.spec.max_duration is not None:
            yield job.progress.changed_at + job.spec.max_duration - job.ran_for
    if job.promise in OPEN_PROMISES and job.contract is not None and job.contract.promised is not None:
        yield job.contract.promised + 2 * PATIENCE
