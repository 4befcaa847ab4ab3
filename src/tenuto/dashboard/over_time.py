"""Stretches of time that charts can show, and points of which none is drawn where nothing was measured. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

MISSING = 2.5
"""So many steps without a point are a gap."""


@dataclass(frozen=True, slots=True)
class Span:
    """So long, with a point for each step."""

    label: str
    seconds: float
    step: float


SPANS = (
    Span("10 min", 600, 2),
    Span("1 h", 3600, 15),
    Span("6 h", 21_600, 120),
    Span("1 day", 86_400, 300),
    Span("7 days", 604_800, 1800),
)
"""At most about three hundred points a line."""
BY_LABEL = {span.label: span for span in SPANS}


SHORTEST = 60.0
"""Seconds that a chart shows at least."""


def beginning(firsts: Iterable[float], since: float, until: float) -> float:
    """Where a chart begins: where it should, or where there is something to be seen for the first time.

    Of a platform that is a minute old an hour would be an empty chart with a needle at its end.
    """
    return max(since, min([*firsts, until - SHORTEST]))


def broken_at_gaps(
    at: Sequence[float], values: Sequence[float | None], step: float
) -> list[tuple[float, float | None]]:
    """Points of a line, with nothing between two that are too far apart to be neighbours."""
    points: list[tuple[float, float | None]] = []
    for moment, value in zip(at, values, strict=True):
        if points and moment - points[-1][0] > MISSING * step:
            points.append((points[-1][0] + step, None))
        points.append((moment, value))
    return points
