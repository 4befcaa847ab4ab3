"""What a store tells of the past: jobs by when they were submitted, their events, the nodes' events, and outages.

Jobs stand in the order of their submission, so a moment is found by halving, however long the past is.
"""

from __future__ import annotations

from tenuto.model.event import Event
from tenuto.model.job import Job
from tenuto.store.base import EventQuery, JobQuery, Tx

MOST_EVENTS = 5000
"""Events of one job, or of all nodes, that are looked at: the newest."""
MOST_OUTAGES = 100
_PAGE = 500
_BEGINS_AGAIN = ("scaled", "submitted", "verdict")
"""What is told when a platform that was down works again."""


def submitted_between(
    tx: Tx, since: float, until: float, before: int | None = None, limit: int = _PAGE
) -> list[Job]:
    """Jobs that were submitted from `since` on and before `until`, newest first; `before` is a number, the cursor."""
    cursor = _first_number(tx, until) if before is None else before
    page = tx.jobs(JobQuery(before=cursor, limit=limit))
    return [job for job in page if job.submitted_at >= since]


def jobs_of_a_time(tx: Tx, since: float, most: int) -> tuple[list[Job], bool]:
    """The jobs that lived at any time since a moment, by number, and whether there were more: the newest are kept."""
    found = {job.number: job for job in tx.live_jobs()}
    more = False
    after = (since, 0)
    while page := tx.ended_jobs(after, _PAGE):
        found |= {job.number: job for job in page}
        last = page[-1]
        after = (last.ended_at or since, last.number)
        if len(found) > 2 * most:
            found = _newest(found, most)
            more = True
    return list(_newest(found, most).values()), more or len(found) > most


def _newest(jobs: dict[int, Job], most: int) -> dict[int, Job]:
    return {number: jobs[number] for number in sorted(jobs)[-most:]}


def _first_number(tx: Tx, moment: float) -> int:
    """The least number that only jobs have which were submitted at that moment or later."""
    newest = tx.jobs(JobQuery(limit=1))
    low, high = 0, newest[0].number + 1 if newest else 0
    while low < high:
        middle = (low + high) // 2
        below = tx.jobs(JobQuery(before=middle + 1, limit=1))
        if below and below[0].submitted_at >= moment:
            high = below[0].number
        else:
            low = middle + 1
    return low


def events_of(tx: Tx, job: str) -> list[Event]:
    """What happened to a job, oldest first."""
    return tx.events(EventQuery(job=job, limit=MOST_EVENTS, last=True))


def node_events(tx: Tx) -> list[Event]:
    """What happened to nodes, oldest first."""
    return tx.events(EventQuery(kind="node", limit=MOST_EVENTS, last=True))


def outages(tx: Tx) -> list[tuple[float, float | None]]:
    """From when to when the platform was taken down; None while it still is."""
    told = tx.events(EventQuery(kind="cluster", limit=MOST_OUTAGES, last=True))
    return [(event.at, _works_again(tx, event)) for event in told if event.after == "draining"]


def _works_again(tx: Tx, down: Event) -> float | None:
    first = (tx.events(EventQuery(kind=kind, after=down.id, limit=1)) for kind in _BEGINS_AGAIN)
    return min((events[0].at for events in first if events), default=None)
