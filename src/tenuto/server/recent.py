"""The newest events as they go over the wire: written once, whoever reads them.

A listener holds nothing but the number of the last event it was sent. Whoever has fallen behind what is kept here
reads from the store, so that one who reads slowly costs no memory.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

from tenuto.model.event import Event
from tenuto.server.show import shown_event
from tenuto.store.base import EventQuery, Tx

KEPT = 500
"""Events; about half a megabyte."""
JOBS, NODES, CLUSTER, LOGS = "jobs", "nodes", "cluster", "logs"
TOPICS = (JOBS, NODES, CLUSTER, LOGS)
_ENDS_OF_LINES = {code: f"\\u{code:04x}" for code in (0x85, 0x2028, 0x2029)}
"""Of these JSON thinks nothing, but many a client takes them for the end of a line."""


@dataclass(frozen=True, slots=True)
class Told:
    """An event, and as it is sent."""

    event: Event
    frame: bytes


class Recent:
    """Every event behind `since` up to `upto`. Used from one event loop."""

    def __init__(self, upto: int) -> None:
        self._told: deque[Told] = deque(maxlen=KEPT)
        self.since = upto
        self.upto = upto

    def add(self, news: Iterable[Told]) -> None:
        """Add what follows; older ones go, and all of them if some between are missing."""
        for one in news:
            number = one.event.id
            if number <= self.upto:
                continue
            if number != self.upto + 1:
                self._told.clear()
            self._told.append(one)
            self.upto = number
        self.since = self._told[0].event.id - 1 if self._told else self.upto

    def after(self, number: int) -> list[Told]:
        """Everything behind an event, oldest first; to be asked only for what is kept."""
        return list(islice(self._told, max(number - self.since, 0), None))


def topic_of(event: Event) -> str:
    """Every event belongs to one topic."""
    if event.job:
        return JOBS
    return NODES if event.node else CLUSTER


def told(event: Event) -> Told:
    """An event as it is sent."""
    return Told(event, frame(topic_of(event), shown_event(event).model_dump_json(), event.id))


def frame(name: str, data: str, number: int | None = None) -> bytes:
    """One message of an event stream. JSON holds no line feed, so one line of data is enough."""
    id_ = "" if number is None else f"id: {number}\n"
    return f"{id_}event: {name}\ndata: {data.translate(_ENDS_OF_LINES)}\n\n".encode()


def last_id(tx: Tx) -> int:
    """The number of the newest event; 0 if there is none."""
    newest = tx.events(EventQuery(limit=1, last=True))
    return newest[0].id if newest else 0
