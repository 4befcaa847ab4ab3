"""The event stream: what happens, as it happens, to any number of listeners (server-sent events).

A client that was cut off names the last event it has (`Last-Event-ID`) and goes on behind it, also with a server that
was started anew: the numbers are the store's.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from math import inf
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query
from fastapi.responses import StreamingResponse
from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool

from tenuto.errors import InputInvalid
from tenuto.model.event import Event
from tenuto.server.event_retention import removed_until
from tenuto.server.events import id_of
from tenuto.server.log_feed import LogFeed
from tenuto.server.paging import Text
from tenuto.server.platform import Here, Platform
from tenuto.server.recent import CLUSTER, JOBS, LOGS, NODES, TOPICS, Recent, frame, last_id, told, topic_of
from tenuto.store.base import EventQuery, StoreUnavailable, Tx
from tenuto.suggest import did_you_mean
from tenuto.wire.printed import StreamOpened
from tenuto.wire.quantities import Unusable

router = APIRouter(prefix="/events", tags=["events"])

EVENT_STREAM = "text/event-stream"
HEARTBEAT = 15.0
"""Seconds after which a listener hears at least that we are there."""
RETRY = 1000
"""Milliseconds after which a client that was cut off should come back."""
PAGE = 500
"""Events that are read from the store at once by a listener who is behind."""
FARTHEST = 1 << 62


def _known_topics(written: str) -> str:
    for topic in filter(None, written.split(",")):
        if topic not in TOPICS:
            guess = did_you_mean(topic, TOPICS).strip()
            raise Unusable(f"there is no topic {topic[:60]!r}", guess or f"Known are {', '.join(TOPICS)}")
    return written


class StreamFilter(BaseModel):
    """What to hear."""

    model_config = ConfigDict(extra="forbid")

    topics: Annotated[Text, AfterValidator(_known_topics)] = Field(
        default="",
        description="Any of jobs, nodes, cluster and logs, with commas between; all but logs, if not said.",
    )
    job: Text = Field(
        default="",
        description="For jobs and logs: an id, the beginning of one, or a name; deleted jobs by id.",
    )
    node: Text = Field(default="", description="For jobs and nodes.")
    kind: Text = Field(default="", description="For everything but logs.")
    after: int | None = Field(
        default=None, ge=0, le=FARTHEST, description="Begin behind this event; with what is new, if not said."
    )
    timeout: float | None = Field(
        default=None, ge=0, le=86400, description="Seconds after which the stream ends; never, if not said."
    )

    def wanted(self) -> frozenset[str]:
        """The topics; where none is named those that the filters leave anything of, as in a list."""
        if named := frozenset(filter(None, self.topics.split(","))):
            return named
        return frozenset({JOBS} if self.job else {JOBS, NODES} if self.node else {JOBS, NODES, CLUSTER})


class EventStream(StreamingResponse):
    """What goes on without end."""

    media_type = EVENT_STREAM


@dataclass(frozen=True, slots=True)
class Ear:
    """What one listener wants to hear."""

    topics: frozenset[str]
    job: str
    """Its id."""
    node: str
    kind: str

    def hears(self, event: Event) -> bool:
        """Whether an event is for this listener."""
        topic = topic_of(event)
        return (
            topic in self.topics
            and self.kind in ("", event.kind)
            and (topic != JOBS or self.job in ("", event.job))
            and (topic == CLUSTER or self.node in ("", event.node))
        )

    def query(self, after: int) -> EventQuery:
        """The store's part of the question: what it can find quickly."""
        only_jobs = self.topics <= {JOBS, LOGS}
        return EventQuery(job=self.job if only_jobs else "", kind=self.kind, after=after, limit=PAGE)


OPEN = "open"
"""The message that is no event: how the stream begins, and that it goes on behind events that were removed."""
DESCRIBED: dict[str, Any] = {
    "description": "Messages without end. `data` is JSON: an event as in the list, or what a worker printed.",
    "content": {
        EVENT_STREAM: {
            "schema": {
                "type": "object",
                "properties": {
                    "event": {"enum": [OPEN, *TOPICS]},
                    "id": {"type": "string", "pattern": "^[0-9]+$"},
                    "data": {"type": "string"},
                    "retry": {"type": "integer"},
                },
                "required": ["event", "data"],
            }
        }
    },
}
LastSeen = Annotated[
    int | None,
    Header(alias="Last-Event-ID", ge=0, le=FARTHEST, description="The last event that was heard."),
]


@router.get(
    "/stream",
    response_class=EventStream,
    responses={200: DESCRIBED},
)
async def stream_events(
    here: Here, which: Annotated[StreamFilter, Query()], last_event_id: LastSeen = None
) -> EventStream:
    """Hear what happens as it happens; also found at `GET /events` with `Accept: text/event-stream`."""
    topics = which.wanted()
    if LOGS in topics and not which.job:
        raise InputInvalid("the logs of all jobs are too many", remedy="Name one with job=", field="job")
    after = last_event_id if last_event_id is not None else which.after

    def look(tx: Tx) -> tuple[str, int, int]:
        job, newest = id_of(tx, which.job), last_id(tx)
        begin = newest if after is None else min(after, newest)
        return job, begin, removed_until(tx, job)

    job, begin, removed = await run_in_threadpool(here.store.read, look)
    listener = Listener(here, Ear(topics, job, which.node, which.kind), begin, removed)
    # A proxy that gathers answers before it passes them on would make a stream of it that never comes.
    return EventStream(listener.messages(which.timeout), headers={"X-Accel-Buffering": "no"})


class Listener:
    """One listener: its place in the events, and in each worker's log."""

    def __init__(self, here: Platform, ear: Ear, begin: int, removed: int = 0) -> None:
        self._here = here
        self._ear = ear
        self._place = begin
        self._removed = removed
        """The id up to which events were removed, as far as the listener was told."""
        self._behind = True
        """Whether there may be events in the store that were not among the recent ones."""

    async def messages(self, seconds: float | None) -> AsyncIterator[bytes]:
        """Everything that is sent."""
        with ExitStack() as ends, suppress(StoreUnavailable):  # who comes back goes on where it has stopped
            woken = ends.enter_context(self._here.bell.listen())
            feed = None
            if LOGS in self._ear.topics:
                feed = ends.enter_context(LogFeed.of(self._here.logs, self._ear.job, woken))
                await run_in_threadpool(feed.begin)
            recent = await self._here.bell.begin_recent()
            until = inf if seconds is None else _time() + seconds
            yield f"retry: {RETRY}\n".encode() + self._opening(gap=self._place < self._removed)
            while not self._here.bell.closed:
                woken.clear()
                piece = await self._events(recent) + (b"" if feed is None else await feed.read())
                if piece:
                    yield piece
                if self._behind:
                    continue
                if (left := until - _time()) <= 0.0:  # however much there is to say
                    return
                heard = await _heard(woken, min(left, HEARTBEAT))
                if not heard and left > HEARTBEAT:
                    yield f"id: {self._place}\n: still here\n\n".encode()

    def _opening(self, *, gap: bool) -> bytes:
        opened = StreamOpened(
            after=self._place, topics=sorted(self._ear.topics), job=self._ear.job or None, gap=gap
        )
        return frame(OPEN, opened.model_dump_json(), self._place)

    async def _events(self, recent: Recent) -> bytes:
        """The events that follow, if any, as one piece."""
        if self._behind or self._place < recent.since:
            found, self._place, self._behind = await run_in_threadpool(self._here.store.read, self._older)
            return b"".join(found)
        news = recent.after(self._place)
        self._place = max(self._place, recent.upto)
        return b"".join(one.frame for one in news if self._ear.hears(one.event))

    def _older(self, tx: Tx) -> tuple[list[bytes], int, bool]:
        """One page from the store, how far it goes, and whether there is more."""
        page = tx.events(self._ear.query(self._place))
        removed = removed_until(tx, self._ear.job)
        gap = max(self._place, self._removed) < removed
        opened = [self._opening(gap=True)] if gap else []
        self._removed = max(removed, self._removed)
        more = len(page) == PAGE
        place = page[-1].id if more else max(last_id(tx), self._place)
        return [*opened, *(told(event).frame for event in page if self._ear.hears(event))], place, more


def _time() -> float:
    return asyncio.get_running_loop().time()


async def _heard(woken: asyncio.Event, seconds: float) -> bool:
    """Wait for something to say, not longer than so many seconds."""
    try:
        async with asyncio.timeout(seconds):
            await woken.wait()
    except TimeoutError:
        return False
    return True
