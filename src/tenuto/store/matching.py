"""When a job or an event is meant by a query: one meaning, whatever the store.

Names come from keyboards, files and other systems, so the same Korean or Polish name arrives in several Unicode
forms. They are compared in one (NFC); parts of names are compared without regard to case.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import Any

from tenuto.model.event import Event
from tenuto.model.job import Job
from tenuto.model.phase import ENDED, STANDING
from tenuto.store.base import EventQuery, JobOrder, JobQuery


def composed(text: str) -> str:
    """The form in which names are compared."""
    return unicodedata.normalize("NFC", text)


def folded(text: str) -> str:
    """The form in which parts of names are compared."""
    return composed(composed(text).casefold())


def means_job(query: JobQuery, job: Job) -> bool:
    """Whether the job is among those that the query asks for."""
    return (
        (not query.phases or job.phase in query.phases)
        and query.owner in ("", job.owner)
        and (not query.name or composed(query.name) == composed(job.spec.name))
        and (not query.text or _has_text(query.text, job))
        and (query.before is None or job.number < query.before)
        and all(job.spec.labels.get(key) == value for key, value in query.labels.items())
    )


def _has_text(text: str, job: Job) -> bool:
    return folded(text) in folded(job.spec.name) or job.id.lower().startswith(text.lower())


def in_order(query: JobQuery, jobs: Iterable[Job]) -> list[Job]:
    """Jobs in the order that the query asks for."""
    newest = sorted(jobs, key=lambda job: job.number, reverse=True)
    ranked = [(_rank(query.order, job), job) for job in newest]
    known = [(rank, job) for rank, job in ranked if rank is not None]
    if query.order is not JobOrder.SUBMITTED or not query.descending:
        known.sort(key=lambda one: one[0], reverse=query.descending)
    return [job for _, job in known] + [job for rank, job in ranked if rank is None]


def _rank(order: JobOrder, job: Job) -> Any:
    """Where a job stands in an order; None if it has no place in it."""
    match order:
        case JobOrder.SUBMITTED:
            return job.number
        case JobOrder.NAME:
            return folded(job.spec.name)
        case JobOrder.OWNER:
            return job.owner
        case JobOrder.STATE:
            return STANDING[job.phase]
        case JobOrder.ENDED:
            return job.ended_at if job.phase in ENDED else None


def means_event(query: EventQuery, event: Event) -> bool:
    """Whether the event is among those that the query asks for."""
    return (
        event.id > query.after
        and (query.before is None or event.id < query.before)
        and query.job in ("", event.job)
        and query.node in ("", event.node)
        and query.kind in ("", event.kind)
    )
