"""The course of some numbers in one line of characters."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import isfinite

WIDTH = 32
BARS = "▁▂▃▄▅▆▇█"
GAP = " "


def sparkline(values: Sequence[float | None], width: int = WIDTH, gap: str = GAP) -> str:
    """The course of some values in one line: each character is the mean of its part, a gap where nothing is known."""
    parts = min(width, len(values))
    bounds = [len(values) * part // parts for part in range(parts + 1)] if parts else [0]
    means = [_mean(values[begin:end]) for begin, end in pairwise(bounds)]
    known = [mean for mean in means if mean is not None]
    if not known:
        return ""
    low, high = min(known), max(known)
    span = (high - low) or 1.0
    top = len(BARS) - 1
    return "".join(gap if mean is None else BARS[round((mean - low) / span * top)] for mean in means)


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None and isfinite(value)]
    return sum(known) / len(known) if known else None
