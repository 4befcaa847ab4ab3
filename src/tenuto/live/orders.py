"""From records to the whole set of workers that shall be there now. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from tenuto.engines.launch import NO_DEFAULTS, Defaults, launch
from tenuto.live.sight import Sight
from tenuto.model.job import Job, StartOrder
from tenuto.model.node import Node
from tenuto.model.phase import PLACED
from tenuto.wire.worker import WorkerId, WorkerOrder


@dataclass(frozen=True, slots=True)
class _Launched:
    """The orders of one job, and what they were derived from."""

    job: Job
    nodes: Sequence[Node]
    ready: int | None
    defaults: Defaults
    orders: Mapping[WorkerId, WorkerOrder]


class Muster:
    """Derives orders from records; those of a job whose record is the same object as before are kept."""

    def __init__(self) -> None:
        self._launched: dict[str, _Launched] = {}

    def orders(
        self,
        jobs: Iterable[Job],
        nodes: Mapping[str, Node],
        sight: Sight,
        now: float,
        defaults: Defaults = NO_DEFAULTS,
    ) -> tuple[WorkerOrder, ...]:
        """Every worker that is wanted, job by job.

        What was ordered stays wanted until it has been seen, even if its job has moved on: only then is it certain
        when it will be gone.
        """
        launched: dict[str, _Launched] = {}
        wanted: dict[WorkerId, WorkerOrder] = {}
        for job in jobs:
            if wants_workers(job, nodes) and may_begin(job, sight, now):
                launched[job.id] = self._launch(job, nodes, _ready(job, sight), defaults)
                wanted |= launched[job.id].orders
        self._launched = launched
        underway = (order for worker, order in sight.underway.items() if worker not in wanted)
        return (*wanted.values(), *(order for order in underway if order.node in nodes))

    def _launch(
        self, job: Job, nodes: Mapping[str, Node], ready: int | None, defaults: Defaults
    ) -> _Launched:
        there = [nodes[name] for name in job.places]
        known = self._launched.get(job.id)
        given = (there, ready, defaults)
        if known is not None and known.job is job and (known.nodes, known.ready, known.defaults) == given:
            return known
        found = launch(job, nodes, ready=ready, defaults=defaults)
        return _Launched(job, *given, {order.id: order for order in found})


def wants_workers(job: Job, nodes: Mapping[str, Node]) -> bool:
    """Whether a job has places on nodes that are there."""
    if job.phase not in PLACED or job.ending is not None or not job.places:
        return False
    if job.spec.cpu_only:
        return all(name in nodes for name in job.places)
    return all(
        name in nodes and max(slots, default=-1) < len(nodes[name].slots)
        for name, slots in job.places.items()
    )


def may_begin(job: Job, sight: Sight, now: float) -> bool:
    """Whether a generation's time has come: no older worker lives anywhere, and a failure is long enough ago.

    What has begun goes on: an older worker that turns up later on a node that was thought lost is simply not
    wanted there.
    """
    return sight.begun(job) or (job.not_before <= now and not sight.elder(job))


def _ready(job: Job, sight: Sight) -> int | None:
    """How many workers have started, by rank; None if all are to start together."""
    if job.spec.start is not StartOrder.ORDERED:
        return None
    # The highest rank tells: those below it were started before, even where nobody has looked yet.
    return max((rank + 1 for rank in sight.started_ranks(job)), default=0)
