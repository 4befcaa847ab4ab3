"""What an operator sets for all rounds. Apart from snapshots, so that settings can be read without their columns."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Placement(StrEnum):
    """How slots are chosen once the sizes are known."""

    BUDDY = "buddy"
    PACK = "pack"
    SPREAD = "spread"
    RANDOM = "random"


@dataclass(frozen=True, slots=True)
class Rules:
    """What an operator sets for all rounds."""

    interval: float = 60.0
    """Least seconds between two changes of a job's size that no promise demands."""
    margin: float = 0.1
    """Share of a job's work that admission adds, against speeds below the curve."""
    placement: Placement = Placement.BUDDY
    seed: int = 0
    """Decides everything that is left to chance (placement `random`)."""
