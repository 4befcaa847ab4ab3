"""The port to the history of numbers.

A *subject* is something that is measured, with a few named values at each moment. Points come in batches, perhaps
twice and perhaps out of order: a point of a moment that is there already replaces it. What was added is seen by `read`
at once, and is durable when `kept` says so; whoever must not lose points keeps them until then and adds them again.
Durable means that the end of any process does no harm.

Raw points are kept for a while, means of minutes for longer; both are thrown away whole chunks at a time. Points that
come when the raw ones of their time are gone already count in the means of their minutes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from tenuto.model.series import Points, Subject
from tenuto.wire.sample import Gap


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesQuery:
    """What to read of one subject: moments from `since` to before `until`."""

    subject: Subject
    since: float
    until: float
    names: frozenset[str] = frozenset()
    """Only these values; all, if empty."""
    step: float = 0.0
    """Seconds of which each point is the mean; 0 for raw points where they are kept, means of minutes elsewhere. Steps
    begin at multiples of their length, and are told whole if `since` or `until` is within one."""
    limit: int = 100_000
    """So many points at most, the oldest first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """Points in the order of time. A point of a mean stands at the beginning of its time; nothing stands for a gap."""

    at: Sequence[float]
    values: Mapping[str, Sequence[float | None]] = field(default_factory=dict)
    step: float = 0.0
    """Seconds of which each point is the mean; 0 if they are raw."""
    means_until: float | None = None
    """Points before this moment are means of minutes, since the raw ones are gone; None if that is true of none."""
    following: float | None = None
    """Ask again from here: the limit was reached."""


class SeriesStore(Protocol):
    """The history of numbers. Safe to call from any thread."""

    @property
    def trouble(self) -> str:
        """Why nothing can be made durable now, in a sentence; empty if all is well."""
        ...

    def add(self, batch: Sequence[Points]) -> None:
        """Take points in; returns before they are durable, and never waits for a disk."""
        ...

    def add_gaps(self, node: str, gaps: Sequence[Gap]) -> None:
        """Remember of what times there are no samples of a node."""
        ...

    def kept(self, kind: str, name: str) -> float:
        """Everything of this name up to this moment that was added is durable; minus infinity if nothing is."""
        ...

    def read(self, query: SeriesQuery) -> Found:
        """What is known, the newest included."""
        ...

    def subjects(
        self, kind: str, name: str = "", part: str = "", limit: int = 10_000, after: Subject | None = None
    ) -> list[Subject]:
        """What is measured, in order: all of a kind, of a name, or whose part begins so; those after one of them."""
        ...

    def gaps(self, node: str, since: float, until: float) -> list[Gap]:
        """The gaps of a node that touch a time, oldest first."""
        ...

    def forget(self, kind: str, name: str) -> None:
        """Leave nothing of a name."""
        ...

    def flush(self) -> None:
        """Make everything durable; returns when it is."""
        ...

    def prune(self, now: float) -> int:
        """Throw away what is older than it shall be kept; returns the chunks that went. Writers do not wait for it."""
        ...

    def close(self) -> None:
        """Make everything durable and let go of it."""
        ...
