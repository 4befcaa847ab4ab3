"""Policies that decide along: how they are asked for, and what the API answers about them."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from tenuto.wire import fields
from tenuto.wire.fields import Request
from tenuto.wire.replies import Answer


class ShadowIn(Request):
    """One policy, and how it is set: as `PolicyIn` says."""

    name: fields.Word
    settings: fields.PolicySettings = Field(default_factory=dict)


class ShadowsIn(Request):
    """The policies that shall decide along from now on; none ends it."""

    policies: Annotated[list[ShadowIn], Field(max_length=100)]


class TallyOut(Answer):
    """What became of the jobs under one policy. Waits and completion times are in seconds."""

    jobs: int
    with_deadline: int
    admitted: int
    declined: int
    promised: int
    kept: int
    missed: int
    in_time: int
    """Jobs with a deadline that were done by then, promised or not."""
    late: int
    finished: int
    mean_wait: float | None
    median_wait: float | None
    mean_completion: float | None
    median_completion: float | None
    rescales: int
    utilisation: float | None


class OtherwiseOut(Answer):
    """A job that fares differently under a policy than it really did."""

    job: str
    name: str
    kind: str
    """`declined`, `admitted`, `in_time`, `late`, `earlier`, `later` or `slots`."""
    seconds: float
    """By how much it is done earlier or later."""
    slots: int
    """With `slots`: those that it would have now."""
    really: int
    """With `slots`: those that it has."""
    text: str


class ShadowOut(Answer):
    """One policy that decides along."""

    policy: str
    settings: dict[str, Any]
    as_of: str | None
    """The moment up to which it has decided; null before the first time."""
    problem: str
    """What keeps it from deciding."""
    cpu_seconds: float
    """What the last time took."""
    tally: TallyOut | None
    differences: list[OtherwiseOut]
    """The most telling first."""


class ShadowsOut(Answer):
    """What policies would have done, beside what was done."""

    since: str
    until: str
    in_force: str
    """The policy that acts."""
    really: TallyOut | None
    """What was done; null while nobody decides along."""
    shadows: list[ShadowOut]
    most: int
    """Policies that may decide along at the same time."""
    guesses: dict[str, int]
    """How many jobs are not quite as they were, by reason."""
    left_out: dict[str, int]
    """How many jobs are missing, by reason."""
    more: bool
    """There were more jobs than are looked at: the oldest are missing."""
