"""When a job or an event is meant by a query: one meaning, whatever the store.

Names come from keyboards, files and other systems, so the same Korean or Polish name arrives in several Unicode
forms. They are compared in one (NFC); parts of names are compared without regard to case.
"""

from __future__ import annotations

import unicodedata

from tenuto.model.event import Event
from tenuto.model.job import Job
from tenuto.store.base import EventQuery, JobQuery


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


def means_event(query: EventQuery, event: Event) -> bool:
    """Whether the event is among those that the query asks for."""
    return (
        event.id > query.after
        and query.job in ("", event.job)
        and query.node in ("", event.node)
        and query.kind in ("", event.kind)
    )
