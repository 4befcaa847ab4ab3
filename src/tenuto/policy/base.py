"""What a policy is, and how it reads a snapshot."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

import numpy as np

from tenuto.model.columns import Floats
from tenuto.model.plan import Decision
from tenuto.model.snapshot import Snapshot
from tenuto.policy.book import Jobs
from tenuto.policy.share import Terms


@dataclass(frozen=True, slots=True)
class Policy:
    """A pure function from a snapshot to a decision, with the words people know it by."""

    name: str
    summary: str
    decide: Callable[[Snapshot], Decision]
    promises: bool
    """Whether it answers deadlines with promises, as far as it can; the others are refused or wait."""
    aliases: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()
    """Packages beyond the base installation that it cannot do without."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """What can be set: the fields of `decide`, if that is a dataclass, with their values."""
        if not is_dataclass(self.decide):
            return {}
        return {field.name: getattr(self.decide, field.name) for field in fields(self.decide)}

    def tuned(self, **settings: Any) -> Policy:
        """The same policy with other settings."""
        decide: Any = self.decide
        return replace(self, decide=replace(decide, **settings)) if settings else self


def terms_of(snap: Snapshot) -> Terms:
    """The sizes and what reaching them costs."""
    return Terms(snap.sizes, snap.cost.start, snap.cost.rescale, snap.cost.move)


def jobs_of(snap: Snapshot) -> Jobs:
    """The columns that planning needs, with the margin added to the work of jobs with a deadline."""
    held = np.searchsorted(snap.sizes, snap.held)
    held[snap.held == 0] = -1
    todo = snap.left if snap.rules.margin == 0.0 else _with_margin(snap)
    return Jobs(
        snap.number, snap.deadline, todo, held, snap.ready_at, snap.changed_at, snap.rate, snap.useful
    )


def _with_margin(snap: Snapshot) -> Floats:
    return np.where(np.isfinite(snap.deadline), snap.left * (1.0 + snap.rules.margin), snap.left)
