"""What became of promises and forecasts lately."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

from fastapi import APIRouter, Query

from tenuto.forecast.tally import Cause, Held, Tally, available
from tenuto.model.job import ANSWERED, STARTED, Job
from tenuto.model.phase import PromiseState
from tenuto.server.history import moment_behind
from tenuto.server.paging import Text
from tenuto.server.platform import Here, Platform
from tenuto.store.base import Tx
from tenuto.wire.quantities import rfc3339
from tenuto.wire.report import (
    CauseOut,
    ForecastsOut,
    HeldOut,
    NamedOut,
    PromisesOut,
    ReportOut,
    UseOut,
)

router = APIRouter(tags=["report"])
AT_ONCE = 500
"""Jobs that are read together: between two pages others may write, and no more is in memory."""

Since = Annotated[
    Text, Query(description="From when on: `7d` for so long ago, or a date and time with its zone.")
]


@router.get("/report", response_model=ReportOut)
def report(here: Here, since: Since = "7d") -> ReportOut:
    """Report what became of promises and forecasts: of jobs that ended since then, and of those on their way."""
    now = here.clock()
    tally = Tally(min(moment_behind(since, now, "since"), now), now)
    slots = _count(here, tally)
    return ReportOut(
        since=rfc3339(tally.since),
        until=rfc3339(now),
        ended={str(phase): count for phase, count in sorted(tally.ended.items())},
        promises=_promises(tally),
        declined=_causes(tally.declined),
        forecasts=ForecastsOut(
            answered=_held(tally.forecasts.get(ANSWERED)), started=_held(tally.forecasts.get(STARTED))
        ),
        rescales=tally.rescales,
        slots=UseOut(used=tally.used, available=slots),
    )


def _count(here: Platform, tally: Tally) -> float:
    """Count all jobs that are meant; returns the slot-seconds that there were."""

    def those_on_their_way(tx: Tx) -> tuple[list[Job], float]:
        return tx.live_jobs(), available(tx.nodes(), tally.since, tally.until)

    live, slots = here.store.read(those_on_their_way)
    for job in live:
        tally.add(job)
    counted, after = {job.id for job in live}, (tally.since, -1)
    while page := here.store.read(lambda tx, after=after: tx.ended_jobs(after, AT_ONCE)):  # type: ignore[misc]
        for job in page:
            if job.id not in counted:  # one that has ended meanwhile was counted as it was
                tally.add(job)
        after = (page[-1].ended_at or 0.0, page[-1].number)
    return slots


def _promises(tally: Tally) -> PromisesOut:
    def count(*states: PromiseState) -> int:
        return sum(tally.promises.get(state, 0) for state in states)

    return PromisesOut(
        kept=count(PromiseState.KEPT),
        broken=count(PromiseState.BROKEN),
        withdrawn=count(PromiseState.WITHDRAWN),
        open=count(PromiseState.HOLDS, PromiseState.AT_RISK),
        at_risk=count(PromiseState.AT_RISK),
        broken_by=_causes(tally.broken),
    )


def _causes(found: Mapping[str, Cause]) -> list[CauseOut]:
    """The most frequent first."""
    ordered = sorted(found.items(), key=lambda item: (-item[1].count, item[0]))
    return [
        CauseOut(cause=name, count=one.count, jobs=[NamedOut(id=id_, name=job) for id_, job in one.jobs])
        for name, one in ordered
    ]


def _held(held: Held | None) -> HeldOut:
    if held is None:
        return HeldOut(jobs=0, p50_held=None, p90_held=None, mean_error=None, mean_delay=None)
    return HeldOut(
        jobs=held.jobs,
        p50_held=held.by_median / held.jobs,
        p90_held=held.by_late / held.jobs,
        mean_error=held.off / held.jobs,
        mean_delay=held.late / held.jobs,
    )
