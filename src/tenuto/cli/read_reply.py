"""The server's JSON as typed values. pydantic is imported only when there is something to read: help needs none."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tenuto.wire.replies import AttemptOut, EventOut, JobOut


def job_of(reply: Any) -> JobOut:
    """One job."""
    from tenuto.wire.replies import JobOut

    return JobOut.model_validate(reply)


def attempts_of(replies: Iterable[Any]) -> list[AttemptOut]:
    """Starts of workers."""
    from tenuto.wire.replies import AttemptOut

    return [AttemptOut.model_validate(reply) for reply in replies]


def events_of(replies: Iterable[Any]) -> list[EventOut]:
    """What happened."""
    from tenuto.wire.replies import EventOut

    return [EventOut.model_validate(reply) for reply in replies]
