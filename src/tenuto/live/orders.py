"""From records to the whole set of workers that shall be there now. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from tenuto.engines.launch import launch
from tenuto.live.sight import Sight
from tenuto.model.job import Job, StartOrder
from tenuto.model.node import Node
from tenuto.model.phase import PLACED
from tenuto.wire.worker import WorkerId, WorkerOrder


def orders(
    jobs: Iterable[Job], nodes: Mapping[str, Node], sight: Sight, now: float, checkpoints: str = ""
) -> tuple[WorkerOrder, ...]:
    """Every worker that is wanted, job by job.

    What was ordered stays wanted until it has been seen, even if its job has moved on: only then is it certain when
    it will be gone.
    """
    wanted: dict[WorkerId, WorkerOrder] = {}
    for job in jobs:
        if wants_workers(job, nodes) and may_begin(job, sight, now):
            launched = launch(job, nodes, ready=_ready(job, sight), checkpoints=checkpoints)
            wanted |= {order.id: order for order in launched}
    underway = (order for worker, order in sight.underway.items() if worker not in wanted)
    return (*wanted.values(), *(order for order in underway if order.node in nodes))


def wants_workers(job: Job, nodes: Mapping[str, Node]) -> bool:
    """Whether a job holds slots on nodes that are there."""
    if job.phase not in PLACED or job.ending is not None or not job.slots:
        return False
    return all(
        name in nodes and max(slots, default=-1) < len(nodes[name].slots) for name, slots in job.slots.items()
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
