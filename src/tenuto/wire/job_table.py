"""Jobs in a table: one page of it with the columns that are shown, and how many rows there are in all."""

from __future__ import annotations

from tenuto.wire.replies import Answer


class JobLine(Answer):
    """A job in a line."""

    id: str
    number: int
    name: str
    owner: str
    state: str
    message: str
    wish: str
    priority: str
    workers: int
    min_workers: int
    max_workers: int
    done: float | None
    """Of its work, 0 to 1; null if nobody knows how much there is."""
    eta: str | None
    """When it will probably be done; null if it does not wait or run, or that cannot be foreseen."""
    deadline: str | None
    promised: str | None
    promise: str
    """What has become of the promise, as in a job."""
    submitted_at: str
    ended_at: str | None
    labels: dict[str, str]


class JobTableOut(Answer):
    """A page of the table of jobs."""

    items: list[JobLine]
    of: int
    """How many jobs are meant, on all pages together."""
