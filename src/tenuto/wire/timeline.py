"""The cluster on one axis of time: what jobs had, will probably have, and were promised."""

from __future__ import annotations

from tenuto.wire.questions import StretchOut
from tenuto.wire.replies import Answer


class TimelineJob(Answer):
    """A job and its slots over time."""

    id: str
    name: str
    owner: str
    state: str
    submitted_at: str
    ended_at: str | None
    deadline: str | None
    promised: str | None
    promise: str
    """What has become of the promise."""
    finish: str | None
    """When it is expected to be done."""
    past: list[StretchOut]
    """The slots that it had; the last stretch of a job that has slots ends now."""
    foreseen: list[StretchOut]
    """Those that it will probably have from now on, spare ones included."""
    reserved: list[StretchOut]
    """Those that are promised to it."""


class UsedOut(Answer):
    """Slots in use over time, of all jobs together, in two columns."""

    at: list[float]
    """Unix seconds, at which the time begins that a mean is of."""
    slots: list[float | None]


class TimelineOut(Answer):
    """A window of time."""

    since: str
    until: str
    now: str
    as_of: str | None
    """When it was looked ahead; null if nobody has looked yet, or there was nobody to look for."""
    slots: int
    """That can be used now."""
    jobs: list[TimelineJob]
    """First those that have slots, then those that wait, then those that ended, the last one first."""
    more: bool
    """Whether there are jobs that are not listed."""
    past: UsedOut
    """As it was measured."""
    foreseen: UsedOut
