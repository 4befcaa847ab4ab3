"""Who is on which slot of the whole cluster, in columns: for a picture of thousands of slots."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from fastapi import APIRouter

from tenuto.model.job import Job
from tenuto.model.node import Node
from tenuto.server.platform import Here
from tenuto.wire.overview import MapJobOut, MapOut

router = APIRouter(tags=["cluster"])
NOBODY = -1


@router.get("/cluster/map", response_model=MapOut)
def show_map(here: Here) -> MapOut:
    """Show every slot of every node, and the job that is on it."""
    return here.store.read(lambda tx: map_of(tx.nodes(), tx.live_jobs()))


def map_of(nodes: Sequence[Node], live: Iterable[Job]) -> MapOut:
    """The slots of these nodes; jobs that are on none of them are not told."""
    slots = {node.name: [NOBODY] * len(node.slots) for node in nodes}
    jobs: list[MapJobOut] = []
    # Who holds a slot comes before his guests, so guests are seated last.
    for job in sorted(live, key=lambda job: job.is_guest):
        if job.spec.cpu_only or not _seat(slots, job, len(jobs)):
            continue
        jobs.append(MapJobOut(id=job.id, name=job.spec.name, state=str(job.phase), promise=str(job.promise)))
    return MapOut(
        nodes=[node.name for node in nodes],
        states=[str(node.state) for node in nodes],
        slots=list(slots.values()),
        jobs=jobs,
    )


def _seat(slots: dict[str, list[int]], job: Job, place: int) -> bool:
    """Put a job where it is; whether it is anywhere."""
    found = False
    for name, numbers in job.places.items():
        row = slots.get(name, [])
        for number in numbers:
            if number < len(row) and row[number] == NOBODY:
                row[number] = place
                found = True
    return found
