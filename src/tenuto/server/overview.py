"""One look at the whole, for screens: numbers, and the rows of nodes, GPUs and jobs that fit on one.

Thousands of GPUs and jobs are filtered and sorted here, where they are, so that a screen asks for what it shows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, TypeVar

from fastapi import APIRouter, Query
from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from tenuto.model.job import Job
from tenuto.model.phase import Phase, PromiseState
from tenuto.server.cluster import show_cluster
from tenuto.server.ends import RecentEnds
from tenuto.server.jobs import outlook
from tenuto.server.outlook import Seen
from tenuto.server.overview_rows import GPU_ORDERS, JOB_ORDERS, NODE_ORDERS, JobRows, NodeRows
from tenuto.server.paging import Skip, Text, known_order
from tenuto.server.platform import Here
from tenuto.server.show import moment
from tenuto.store.base import Tx
from tenuto.wire.overview import OverviewOut, QueueOut, Rows, StandingOut

router = APIRouter(tags=["cluster"])
T = TypeVar("T")
MOST_ROWS = 500


Count = Annotated[int, Field(ge=0, le=MOST_ROWS)]


class Look(BaseModel):
    """Which rows to show. Orders are turned round by a minus before their name."""

    model_config = ConfigDict(extra="forbid")

    text: Text = Field(default="", description="Only rows in which this stands: in names, owners, states.")
    nodes: Count = Field(default=20, description="Rows of nodes.")
    nodes_from: Skip = Field(default=0, description="Leave out so many before.")
    nodes_by: Annotated[Text, AfterValidator(known_order(NODE_ORDERS))] = Field(
        default="number", description=f"One of {', '.join(NODE_ORDERS)}."
    )
    gpus: Count = Field(default=20, description="Rows of GPUs.")
    gpus_from: Skip = Field(default=0, description="Leave out so many before.")
    gpus_by: Annotated[Text, AfterValidator(known_order(GPU_ORDERS))] = Field(
        default="node", description=f"One of {', '.join(GPU_ORDERS)}."
    )
    jobs: Count = Field(default=20, description="Rows of jobs.")
    jobs_from: Skip = Field(default=0, description="Leave out so many before.")
    jobs_by: Annotated[Text, AfterValidator(known_order(JOB_ORDERS))] = Field(
        default="state", description=f"One of {', '.join(JOB_ORDERS)}."
    )


@router.get("/overview", response_model=OverviewOut)
def show_overview(here: Here, which: Annotated[Look, Query()]) -> OverviewOut:
    """Look at the whole: jobs that have not ended or ended within the last minute, nodes, and their GPUs."""
    now, seen = here.clock(), outlook(here)

    def look(tx: Tx) -> OverviewOut:
        live = tx.live_jobs()
        here.ends.look(tx, now)
        there = NodeRows(tx.nodes(), live, here.files.latest.all(), here.settings.nodes.cpu_jobs, now)
        jobs = JobRows(here.files.series, there, seen, now)
        text = which.text.casefold()
        nodes, of_nodes = _page(there.nodes(text, which.nodes_by), which.nodes_from, which.nodes)
        if which.gpus or text:
            gpus, of_gpus = _page(there.gpus(text, which.gpus_by), which.gpus_from, which.gpus)
        else:  # of thousands, nobody wants to see one
            gpus, of_gpus = (), there.gpu_count()
        rows, of_jobs = _page(
            jobs.those(text, [*live, *here.ends.lately(now)], which.jobs_by), which.jobs_from, which.jobs
        )
        return OverviewOut(
            cluster=cluster,
            promises=_standing(live, here.ends),
            queue=_queue(live, seen),
            nodes=[there.node_row(node) for node in nodes],
            gpus=[there.gpu_row(*gpu) for gpu in gpus],
            jobs=[jobs.row(job) for job in rows],
            of=Rows(nodes=of_nodes, gpus=of_gpus, jobs=of_jobs),
        )

    cluster = show_cluster(here)
    return here.store.read(look)


def _page(found: Sequence[T], skip: int, count: int) -> tuple[Sequence[T], int]:
    return found[skip : skip + count], len(found)


def _standing(live: Sequence[Job], ends: RecentEnds) -> StandingOut:
    open_now = [job.promise for job in live]
    return StandingOut(
        holds=open_now.count(PromiseState.HOLDS),
        at_risk=open_now.count(PromiseState.AT_RISK),
        kept=ends.count(PromiseState.KEPT),
        broken=ends.count(PromiseState.BROKEN) + open_now.count(PromiseState.BROKEN),
    )


def _queue(live: Sequence[Job], seen: Seen) -> QueueOut:
    waiting = [job for job in live if job.phase in (Phase.SUBMITTED, Phase.QUEUED)]
    etas = [seen.etas.get(job.id) for job in waiting]
    starts = [eta.start for eta in etas if eta is not None and eta.start is not None]
    all_foreseen = starts and len(starts) == len(waiting)
    return QueueOut(
        waiting=len(waiting),
        next_start=moment(min(starts, default=None)),
        empty_at=moment(max(starts)) if all_foreseen else None,
    )
