"""The report on promises and forecasts, as the API gives it."""

from __future__ import annotations

from tenuto.wire.replies import Answer


class NamedOut(Answer):
    """A job that is meant."""

    id: str
    name: str


class CauseOut(Answer):
    """Why something happened, how often, and to whom."""

    cause: str
    count: int
    jobs: list[NamedOut]
    """The first ten of them."""


class PromisesOut(Answer):
    """What has become of promises."""

    kept: int
    broken: int
    withdrawn: int
    """Their owners cancelled, paused or changed the jobs."""
    open: int
    at_risk: int
    """Open ones that will be late as things stand."""
    broken_by: list[CauseOut]


class HeldOut(Answer):
    """How forecasts of one moment fared, of the jobs that have succeeded."""

    jobs: int
    p50_held: float | None
    """The part of jobs that were done by the median; about a half is right."""
    p90_held: float | None
    """The part that was done by the ninetieth percentile; about nine of ten is right."""
    mean_error: float | None
    """Seconds between the median and the end, either way, on average."""
    mean_delay: float | None
    """Seconds by which jobs ended later than the median, on average; below 0 if they ended earlier."""


class ForecastsOut(Answer):
    """How forecasts of ends fared."""

    answered: HeldOut
    """Made when jobs were answered."""
    started: HeldOut
    """Made when they first got slots."""


class UseOut(Answer):
    """How much of the slots was held by jobs; both about right."""

    used: float
    """Slot-seconds."""
    available: float


class ReportOut(Answer):
    """What became of promises and forecasts: jobs that ended since then, and those on their way."""

    since: str
    until: str
    ended: dict[str, int]
    """Jobs by state."""
    promises: PromisesOut
    declined: list[CauseOut]
    """By the code of the reason."""
    forecasts: ForecastsOut
    rescales: int
    """Changes of jobs' slots after their first start."""
    slots: UseOut
