"""Shortest job first: who has least left to do goes first, on the slots it asked for."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from tenuto.model.plan import Decision
from tenuto.model.snapshot import Snapshot
from tenuto.policy.base import Policy
from tenuto.policy.fixed import first_fit, verdicts, wishes_of


@dataclass(frozen=True)
class ShortestFirst:
    """The fields are what `--set` can change; the docstring below a field is its description."""

    grace: float = 60.0
    """Seconds by which a newcomer must be shorter to take a running job's place."""

    def __call__(self, snap: Snapshot) -> Decision:
        """Serve in the order of the seconds left; who does not fit is passed over."""
        wishes = wishes_of(snap)
        rows = np.flatnonzero(wishes.able)
        seconds_left = snap.left[rows] / wishes.rate[rows]
        rank = np.where(snap.held[rows] > 0, seconds_left - self.grace, seconds_left)
        order = rows[np.argsort(rank, kind="stable")]
        return Decision(first_fit(snap, order), verdicts(snap), wake_at=np.inf)


POLICY = Policy(
    name="shortest-first",
    summary="Shortest job first on the requested slots; stops a job for a much shorter one.",
    decide=ShortestFirst(),
    promises=False,
    aliases=("srtf",),
)
