"""The rows of the timeline: the past from events, the future from the last look ahead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tenuto.forecast.stretch import Stretch
from tenuto.forecast.timeline import KINDS, Window, first_of_all, had, mean_use, will_have
from tenuto.model.event import Event
from tenuto.model.job import Job
from tenuto.model.node import NodeState
from tenuto.model.series import CLUSTER, Subject
from tenuto.server.jobs import outlook
from tenuto.server.outlook import Seen
from tenuto.server.platform import Platform
from tenuto.server.show import moment
from tenuto.store.base import EventQuery, Tx
from tenuto.store.series.base import SeriesQuery
from tenuto.wire.quantities import rfc3339
from tenuto.wire.questions import StretchOut
from tenuto.wire.timeline import TimelineJob, TimelineOut, UsedOut

if TYPE_CHECKING:  # it loads compiled kernels, which nobody shall wait for who looks at the past
    from tenuto.forecast.future import Future

EVENTS = 200
"""Changes of one job that are looked at: the newest."""
ENDED = 1000
"""Ended jobs among which those are chosen that ever had slots."""
POINTS = 150
"""Of slots in use, in the past and in the future."""
FINEST = 10.0
"""Seconds that a point stands for at least."""
_LAST = 253_402_300_000.0
"""What is later has no date."""


@dataclass(frozen=True)
class _Looked:
    jobs: Sequence[Job]
    more: bool
    had: Mapping[str, Sequence[Stretch]]
    usable: int


def timeline(here: Platform, since: float, until: float, now: float, limit: int) -> TimelineOut:
    """Everybody's slots in that time, of so many jobs at most."""
    window = Window(since, until, now)
    seen = outlook(here)
    looked = here.store.read(lambda tx: _look(tx, window, limit))
    return TimelineOut(
        since=rfc3339(window.since),
        until=rfc3339(window.until),
        now=rfc3339(window.now),
        as_of=None if seen.future is None else rfc3339(seen.as_of),
        slots=looked.usable,
        jobs=[_job(job, looked.had[job.id], seen, window) for job in looked.jobs],
        more=looked.more,
        past=_used(here, window),
        foreseen=_will_be_used(seen.future, window),
    )


# the past


def _look(tx: Tx, window: Window, limit: int) -> _Looked:
    live = first_of_all(tx.live_jobs(), window)
    ended, more = _ended(tx, window, limit - len(live)) if len(live) < limit else ([], True)
    jobs = [*live[:limit], *ended]
    usable = sum(len(node.slots) for node in tx.nodes() if node.state is NodeState.ONLINE)
    return _Looked(jobs, more, {job.id: had(job, _changes(tx, job), window) for job in jobs}, usable)


def _ended(tx: Tx, window: Window, room: int) -> tuple[list[Job], bool]:
    """Jobs that ended in the window or later after they had slots, the last one first; and whether there are more."""
    ahead = window.until >= window.now
    # Of a window that is over, those that ended first are the likeliest to have lived in it.
    page = tx.ended_jobs((window.since, 0), ENDED, last=ahead)
    meant = [job for job in page if job.started_at is not None and job.submitted_at < window.until]
    kept = meant[-room:] if ahead else meant[:room]
    return kept[::-1], len(page) == ENDED or len(kept) < len(meant)


def _changes(tx: Tx, job: Job) -> list[Event]:
    """What tells of a job's slots, oldest first."""
    if job.started_at is None:
        return []
    pages = (tx.events(EventQuery(job=job.id, kind=kind, limit=EVENTS, last=True)) for kind in KINDS)
    return sorted((event for page in pages for event in page), key=lambda event: event.id)


def _used(here: Platform, window: Window) -> UsedOut:
    """Slots in use, as they were counted."""
    until = min(window.until, window.now)
    if until <= window.since:
        return UsedOut(at=[], slots=[])
    found = here.files.series.read(
        SeriesQuery(
            subject=Subject(CLUSTER),
            since=window.since,
            until=until,
            names=frozenset({"slots_used"}),
            step=max((until - window.since) / POINTS, FINEST),
            limit=2 * POINTS,
        )
    )
    slots = found.values.get("slots_used", [None] * len(found.at))
    return UsedOut(at=list(found.at), slots=list(slots))


# the future


def _job(job: Job, past: Sequence[Stretch], seen: Seen, window: Window) -> TimelineJob:
    eta = seen.etas.get(job.id) if job.is_planned else None
    ahead, reserved = _ahead(job, seen.future, window)
    return TimelineJob(
        id=job.id,
        name=job.spec.name,
        owner=job.owner,
        state=str(job.phase),
        submitted_at=rfc3339(job.submitted_at),
        ended_at=moment(job.ended_at),
        deadline=moment(job.deadline),
        promised=moment(None if job.contract is None else job.contract.promised),
        promise=str(job.promise),
        finish=None if eta is None or (eta.finish or 0.0) > _LAST else moment(eta.finish),
        past=_shown(past),
        foreseen=_shown(ahead),
        reserved=_shown(reserved),
    )


def _ahead(job: Job, future: Future | None, window: Window) -> tuple[Sequence[Stretch], Sequence[Stretch]]:
    row = future.rows.get(job.id) if future is not None and job.is_planned else None
    if future is None or row is None:
        return (), ()
    from tenuto.forecast.dry_run import foreseen, reserved

    return will_have(foreseen(future, row), window), will_have(reserved(future, row), window)


def _will_be_used(future: Future | None, window: Window) -> UsedOut:
    begin = max(window.since, window.now)
    if future is None or window.until <= begin:
        return UsedOut(at=[], slots=[])
    from tenuto.forecast.dry_run import foreseen

    ahead = [one for row in range(len(future.picture.jobs)) for one in foreseen(future, row)]
    step = max((window.until - begin) / POINTS, FINEST)
    edges = [*np.arange(begin, window.until, step).tolist(), window.until]
    return UsedOut(at=edges[:-1], slots=[*mean_use(ahead, edges)])


def _shown(stretches: Sequence[Stretch]) -> list[StretchOut]:
    return [StretchOut(begin=rfc3339(one.begin), end=moment(one.end), slots=one.slots) for one in stretches]
