"""What a replay is asked to do, apart from the workload."""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass

Progress = Callable[[int, int], None]
"""Told now and then how many of all jobs have ended or been declined."""

REPORTS = 200
"""How often progress is told at most."""


class Revision(enum.Enum):
    """Which state of the reference is meant."""

    HEAD = "head"
    R2022 = "2022-12"


@dataclass(frozen=True, slots=True)
class Order:
    """The terms of one replay."""

    slot: float
    revision: Revision = Revision.HEAD
    layouts: bool = False
    seed: int = 0
    """For the policies of the reference that draw lots."""
    progress: Progress | None = None

    def tell(self, done: int, told: int, jobs: int) -> int:
        """Tell the progress if enough has been done since it was last told; return what was told last."""
        if self.progress is None or (done - told) * REPORTS < jobs:
            return told
        self.progress(done, jobs)
        return done
