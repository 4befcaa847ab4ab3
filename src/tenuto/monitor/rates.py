"""How fast counters that only grow do so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeAlias

Counters: TypeAlias = tuple[int, ...]
Flows: TypeAlias = tuple[float | None, ...]


class Rates:
    """What counters did a second since they were read before, each of them by its name.

    None for one that was not there before, and for one that went back: it began anew, and nobody knows when.
    """

    def __init__(self) -> None:
        self._at = 0.0
        self._before: Mapping[str, Counters] = {}

    def since_last(self, now: float, counters: Mapping[str, Counters]) -> dict[str, Flows]:
        """`now` is of a clock that nobody sets."""
        seconds = now - self._at
        flows = {name: _flows(self._before.get(name), new, seconds) for name, new in counters.items()}
        self._at, self._before = now, counters
        return flows


def _flows(before: Counters | None, new: Counters, seconds: float) -> Flows:
    if before is None or seconds <= 0:
        return (None,) * len(new)
    return tuple(
        float(round((one - was) / seconds)) if one >= was else None
        for one, was in zip(new, before, strict=True)
    )
