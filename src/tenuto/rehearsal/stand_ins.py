"""Stand-ins for the workers of one job in virtual time: they work along the job's curve and pay for every change.

How far they are is their own count, kept apart from the platform's: what the platform believes and what the workers
have done are compared only by the moment at which the job ends.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf

from tenuto.sim.world import DONE


@dataclass(slots=True)
class StandIns:
    """The workers of one job, and how far they are."""

    left: float
    """Steps still to do."""
    curve: Mapping[int, float]
    size: int = 0
    generation: int = 0
    ready: float = -inf
    """Until then they pay for the last change."""

    @property
    def speed(self) -> float:
        """Steps per second now."""
        return self.curve[self.size] if self.size else 0.0

    def end(self, now: float) -> float:
        """When they will be done, if nothing changes."""
        return max(now, self.ready) + self.left / self.speed if self.size else inf

    def work(self, now: float, then: float) -> bool:
        """Do the steps between two moments; whether all are done."""
        if not self.size:
            return False
        self.left -= max(then - max(now, self.ready), 0.0) * self.speed
        return self.left <= DONE * self.speed
