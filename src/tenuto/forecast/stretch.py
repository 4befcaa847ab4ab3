"""So many slots for so long: what plans, looks ahead and the past are told in."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Stretch:
    """So many slots from one moment to another, in Unix seconds; without an end, until the job is done."""

    begin: float
    end: float | None
    slots: int


def joined(parts: Iterable[Stretch]) -> list[Stretch]:
    """Stretches that follow each other at the same size as one."""
    found: list[Stretch] = []
    for part in parts:
        if found and found[-1].slots == part.slots and found[-1].end == part.begin:
            found[-1] = replace(found[-1], end=part.end)
        else:
            found.append(part)
    return found
