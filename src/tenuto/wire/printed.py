"""What the API answers about what workers print, and how a stream of events and of that begins."""

from __future__ import annotations

from tenuto.wire.replies import Answer


class StreamOpened(Answer):
    """The first message of an event stream; with `gap` also one between, where events were removed unread."""

    after: int
    """The event behind which it begins."""
    topics: list[str]
    job: str | None
    """The id of the job that is meant, if one was named."""
    gap: bool = False
    """Whether events behind `after` were removed: the stream goes on at the oldest that is kept."""


class LogPiece(Answer):
    """What a worker printed just now."""

    job: str
    worker: str
    role: str
    rank: int
    generation: int
    offset: int
    """Where the text begins, in bytes."""
    next: int
    """Where what follows will begin."""
    text: str


class LogPart(Answer):
    """A piece of what one worker printed."""

    worker: str
    role: str
    rank: int
    generation: int
    node: str
    first: int = 0
    """Where what is kept begins, in bytes; above 0 if what was printed before was removed."""
    offset: int
    """Where the text begins, in bytes."""
    next: int
    """Where to go on reading."""
    text: str
    ended: bool
    """Nothing will follow: the worker has gone and all it printed up to `next` was read."""
    exit_code: int | None


class LogsOut(Answer):
    """What the workers of one generation printed."""

    job: str
    generation: int
    parts: list[LogPart]
