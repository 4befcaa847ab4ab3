"""The platform's own past, as a trace tells of it."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field

from tenuto.errors import InputInvalid
from tenuto.forecast.ground import ground_of, longest
from tenuto.forecast.past import LeftOut, PastJob, TraceJob, past_of, trace_job
from tenuto.model.job import Job
from tenuto.server.paging import Limit, Text, cursor_of, number_in
from tenuto.server.platform import Here
from tenuto.server.scene import view
from tenuto.server.show import moment
from tenuto.store.base import Tx
from tenuto.store.history import events_of, node_events, submitted_between
from tenuto.wire.history import PastOut, TimeOut, TraceRowOut
from tenuto.wire.quantities import Unusable, earlier, rfc3339
from tenuto.wire.replies import Page

router = APIRouter(prefix="/history", tags=["history"])

_WRITTEN = "`30d` for so long ago, or a date and time with its zone."


class Span(BaseModel):
    """Which part of the past is meant."""

    model_config = ConfigDict(extra="forbid")

    since: Text = Field(default="30d", description=f"Jobs submitted from then on: {_WRITTEN}")
    until: Text = Field(default="", description="And before then; now, if not said.")

    def moments(self, now: float) -> tuple[float, float]:
        """The beginning and the end, in Unix seconds."""
        since = moment_behind(self.since, now, "since")
        until = moment_behind(self.until, now, "until") if self.until else now
        if until <= since:
            raise InputInvalid("it ends before it begins", remedy="Give an earlier since", field="since")
        return since, until


class PastFilter(Span):
    """Which jobs to list."""

    cursor: Text = Field(default="", description="`next` of the page before.")
    limit: Limit = 100


def moment_behind(written: str, now: float, field: str) -> float:
    """A moment of the past as a query writes it."""
    try:
        return earlier(written, now)
    except Unusable as error:
        raise InputInvalid(error.problem, remedy=error.remedy, field=field) from None


@router.get("", response_model=Page[PastOut])
def list_history(here: Here, which: Annotated[PastFilter, Query()]) -> Page[PastOut]:
    """List the jobs of a time as a trace tells of them, newest first."""
    now = here.clock()
    since, until = which.moments(now)
    before = number_in(which.cursor)

    def look(tx: Tx) -> Page[PastOut]:
        # Of those submitted in this very moment none is left out.
        end = until if which.until else float("inf")
        found = submitted_between(tx, since, end, before, which.limit + 1)
        page = found[: which.limit]
        more = len(found) > which.limit
        return Page(
            items=[_shown(job, past_of(job, events_of(tx, job.id), now)) for job in page],
            next=cursor_of(page[-1].number) if more else None,
        )

    return here.store.read(look)


@router.get("/cluster", response_model=TimeOut)
def show_time(here: Here, which: Annotated[Span, Query()]) -> TimeOut:
    """Tell which nodes there were for the longest part of a time, and by which rules rounds decide now."""
    since, until = which.moments(here.clock())

    def look(tx: Tx) -> TimeOut:
        seen = view(here, tx)
        ground = ground_of(seen.nodes, node_events(tx))
        first = min([until, *(shift.at for shift in ground.shifts)])
        found = longest(ground, max(since, first), until)
        scheduling = seen.rule.scheduling
        return TimeOut(
            since=rfc3339(since),
            until=rfc3339(until),
            nodes=dict(found.nodes),
            share=found.share,
            changes=found.changes,
            policy=scheduling.policy,
            settings=dict(seen.rule.tuning),
            interval=scheduling.interval,
            margin=scheduling.margin,
            placement=str(scheduling.placement),
            seed=scheduling.seed,
            start_cost=scheduling.start_cost,
            rescale_cost=seen.charge.seconds,
        )

    return here.store.read(look)


def _shown(job: Job, past: PastJob | LeftOut) -> PastOut:
    row = trace_job(past) if isinstance(past, PastJob) else past
    started = past.course.started if isinstance(past, PastJob) else job.started_at
    return PastOut(
        id=job.id,
        number=job.number,
        name=job.spec.name,
        owner=job.owner,
        state=str(job.phase),
        submitted_at=rfc3339(job.submitted_at),
        started_at=moment(started),
        ended_at=moment(job.ended_at),
        reply="" if job.contract is None else str(job.contract.reply),
        promise=str(job.promise),
        workers=job.workers,
        rescales=past.course.rescales if isinstance(past, PastJob) else 0,
        trace=_row(row) if isinstance(row, TraceJob) else None,
        guesses=sorted(row.guesses) if isinstance(row, TraceJob) else [],
        left_out=row.value if isinstance(row, LeftOut) else "",
    )


def _row(job: TraceJob) -> TraceRowOut:
    return TraceRowOut(
        arrived=job.arrived,
        steps=job.steps,
        deadline=job.deadline,
        batch=job.batch,
        workers=job.wanted,
        curve={str(size): rate for size, rate in job.rates},
    )
