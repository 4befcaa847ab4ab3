"""The table of jobs: sorted, filtered and paged by the store, with no more in a row than is shown of it."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import AfterValidator, Field

from tenuto.model.job import Job
from tenuto.server.jobs import WhichJobs, outlook
from tenuto.server.outlook import Seen
from tenuto.server.paging import Limit, Skip, Text, known_order
from tenuto.server.platform import Here
from tenuto.server.show import done_share, moment
from tenuto.store.base import JobOrder, Tx
from tenuto.wire.job_table import JobLine, JobTableOut
from tenuto.wire.quantities import rfc3339

# Not below /jobs: what stands there may be the name of a job.
router = APIRouter(prefix="/table", tags=["jobs"])


class TablePage(WhichJobs):
    """Which page of which table."""

    order: Annotated[Text, AfterValidator(known_order(list(JobOrder)))] = Field(
        default="-submitted",
        description=f"One of {', '.join(JobOrder)}; a minus before it turns it round. "
        "Equal ones stand newest first, those without a value last.",
    )
    skip: Skip = Field(default=0, description="Leave out so many before.")
    limit: Limit = 50


@router.get("/jobs", response_model=JobTableOut)
def show_job_table(here: Here, which: Annotated[TablePage, Query()]) -> JobTableOut:
    """Show a page of the table of all jobs, and tell how many rows it has."""
    now, seen = here.clock(), outlook(here)
    query = replace(
        which.to_query(),
        order=JobOrder(which.order.removeprefix("-")),
        descending=which.order.startswith("-"),
        skip=which.skip,
        limit=which.limit,
    )

    def look(tx: Tx) -> JobTableOut:
        return JobTableOut(items=[_line(job, seen, now) for job in tx.jobs(query)], of=tx.count_meant(query))

    return here.store.read(look)


def _line(job: Job, seen: Seen, now: float) -> JobLine:
    eta = seen.etas.get(job.id) if job.is_planned else None
    return JobLine(
        id=job.id,
        number=job.number,
        name=job.spec.name,
        owner=job.owner,
        state=str(job.phase),
        message=job.message,
        wish="cancel" if job.cancel else "pause" if job.pause else "",
        priority="urgent" if job.urgent else "normal",
        workers=job.workers,
        min_workers=job.spec.min_workers,
        max_workers=job.spec.max_workers,
        done=done_share(job, now),
        eta=None if eta is None else moment(eta.finish),
        deadline=moment(job.deadline),
        promised=None if job.contract is None else moment(job.contract.promised),
        promise=str(job.promise),
        submitted_at=rfc3339(job.submitted_at),
        ended_at=moment(job.ended_at),
        labels=dict(job.spec.labels),
    )
