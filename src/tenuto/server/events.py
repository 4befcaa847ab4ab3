"""Events: what happened, to jobs, nodes and the policy."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field

from tenuto.errors import NotFound
from tenuto.server.event_retention import removed_until
from tenuto.server.find import job_called
from tenuto.server.paging import Limit, Text
from tenuto.server.platform import Here
from tenuto.server.show import shown_event
from tenuto.store.base import EventQuery, Tx
from tenuto.wire.replies import EventsOut

router = APIRouter(prefix="/events", tags=["events"])


class EventFilter(BaseModel):
    """Which events to list."""

    model_config = ConfigDict(extra="forbid")

    job: Text = Field(default="", description="An id, the beginning of one, or a name; deleted jobs by id.")
    node: Text = ""
    kind: Text = ""
    after: int = Field(default=0, ge=0, le=1 << 62, description="Only events with a higher number.")
    limit: Limit = 100
    last: bool = Field(
        default=False, description="The newest events instead of the oldest; still oldest first."
    )


@router.get("", response_model=EventsOut)
def list_events(here: Here, which: Annotated[EventFilter, Query()]) -> EventsOut:
    """List events, oldest first. `next` is the number to give as `after` for what follows."""

    def look(tx: Tx) -> EventsOut:
        job = id_of(tx, which.job)
        found = tx.events(
            EventQuery(
                job=job,
                node=which.node,
                kind=which.kind,
                after=which.after,
                limit=which.limit + 1,
                last=which.last,
            )
        )
        page = found[-which.limit :] if which.last else found[: which.limit]
        more = len(found) > which.limit
        return EventsOut(
            items=[shown_event(event) for event in page],
            next=str(page[-1].id) if more and not which.last else None,
            # The newest events are whole unless the list reaches back to those that were removed.
            gap=not (which.last and more) and which.after < removed_until(tx, job),
        )

    return here.store.read(look)


def id_of(tx: Tx, ref: str) -> str:
    """The id of the job that is meant; of one that was deleted, the id itself."""
    if not ref:
        return ""
    try:
        return job_called(tx, ref).id
    except NotFound:
        if tx.events(EventQuery(job=ref, limit=1)):
            return ref
        raise
