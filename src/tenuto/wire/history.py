"""What the API answers about the past: jobs as a trace tells of them, and the cluster of a time."""

from __future__ import annotations

from typing import Any

from tenuto.wire.replies import Answer


class TraceRowOut(Answer):
    """A job as a simulator can run it again. Times are Unix seconds, so that nothing is rounded on the way."""

    arrived: float
    """From when on rounds could decide about it."""
    steps: float
    deadline: float | None
    batch: int
    workers: int
    """The size that fixed-size policies give, if they can."""
    curve: dict[str, float]
    """Every size that it may have, with its steps per second."""


class PastOut(Answer):
    """A job of the past."""

    id: str
    number: int
    name: str
    owner: str
    state: str
    submitted_at: str
    started_at: str | None
    ended_at: str | None
    reply: str
    """The answer to its submission; empty before it came."""
    promise: str
    workers: int
    rescales: int
    trace: TraceRowOut | None
    """Null if it cannot be told of."""
    guesses: list[str]
    """What about it is not quite as it was."""
    left_out: str
    """Why it cannot be told of; empty if it can."""


class TimeOut(Answer):
    """The cluster of a time, and by which rules rounds decide now."""

    since: str
    until: str
    nodes: dict[str, int]
    """Slots by node: those that were there together for the longest part of the time."""
    share: float
    """That part."""
    changes: int
    """How often the nodes changed in that time."""
    policy: str
    """In force now."""
    settings: dict[str, Any]
    """Of that policy itself."""
    interval: float
    margin: float
    placement: str
    seed: int
    start_cost: float
    rescale_cost: float
