"""The event stream as a client hears it: messages out of bytes, and going on where one was after every interruption."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import httpx

from tenuto.client.ask import Ask, Give, Line, Open, Play, Read, Tries
from tenuto.errors import TenutoError

SILENCE = httpx.Timeout(45.0, connect=5.0)
"""The server is heard of every fifteen seconds, so one that was silent for so long is gone."""
OPEN, LOGS = "open", "logs"


@dataclass(frozen=True, slots=True)
class Frame:
    """One message."""

    name: str
    """`open`, or the topic."""
    data: str
    """JSON."""
    id: int | None
    """The newest event that was told, in this message or before it."""

    def json(self) -> Any:
        """What it tells."""
        return json.loads(self.data)


class Frames:
    """Makes messages of the bytes of a stream, however they were cut."""

    def __init__(self) -> None:
        self._rest = b""
        self._name = ""
        self._data: list[str] = []
        self._id: int | None = None
        self.last: int | None = None
        """The newest event that was told to its end."""

    def feed(self, data: bytes) -> Iterator[Frame]:
        """The messages that end in these bytes."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            yield from self._take(line.decode("utf-8", "replace").rstrip("\r"))

    def _take(self, line: str) -> Iterator[Frame]:
        if not line:
            self.last = self._id
            if self._data:
                yield Frame(self._name, "\n".join(self._data), self.last)
            self._name, self._data = "", []
            return
        key, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if key == "event":
            self._name = value
        elif key == "data":
            self._data.append(value)
        elif key == "id" and value.isascii() and value.isdigit():
            self._id = int(value)


@dataclass(frozen=True, slots=True)
class Subscription:
    """What to hear, and behind which event."""

    query: Mapping[str, Any]
    """As the endpoint takes it: topics, job, node, kind, after."""
    last: int | None = None

    def ask(self) -> Ask:
        """The request for what follows."""
        headers = {"Accept": "text/event-stream"}
        if self.last is not None:
            headers["Last-Event-ID"] = str(self.last)
        query = {name: value for name, value in self.query.items() if value != ""}
        return Ask(method="GET", path="/events/stream", query=query, headers=headers, timeout=SILENCE)

    def behind(self, frame: Frame) -> Subscription:
        """What follows upon a message. A name means the same job for as long as one listens."""
        job = frame.json()["job"] if frame.name == OPEN else None
        return replace(self, query={**self.query, "job": job} if job else self.query, last=frame.id)


React = Callable[[Frame], Play[bool]]


def _give(frame: Frame) -> Play[bool]:
    yield Give(frame)
    return False


def followed(line: Line, wanted: Subscription, react: React = _give) -> Play[None]:
    """Hear what is wanted until `react` has heard enough; an interruption costs nothing that was stored."""
    tries = Tries(line)
    while True:
        try:
            source = yield Open(wanted.ask())
            frames = Frames()
            while data := (yield Read(source)):
                tries.begin_anew()
                for frame in frames.feed(data):
                    wanted = wanted.behind(frame)
                    if (yield from react(frame)):
                        return
                wanted = replace(wanted, last=frames.last if frames.last is not None else wanted.last)
            trouble: Exception = httpx.ReadError("the server has ended the stream, and maybe itself")
        except (httpx.TransportError, TenutoError) as met:
            trouble = met
        yield tries.pause_after(trouble, again=True)
