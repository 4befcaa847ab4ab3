"""A snapshot: everything a round may know, frozen, in columns. Row i of every column is the same job."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from tenuto.model.cluster import Cluster
from tenuto.model.columns import Flags, Floats, Ints
from tenuto.model.cost import Cost
from tenuto.model.rules import Placement as Placement
from tenuto.model.rules import Rules as Rules

IDLE = -1
"""In a layout: nobody holds this slot."""
UNUSABLE = -2
"""In a layout: the slot's node is lost or drained."""


@dataclass(frozen=True)
class Snapshot:
    """The cluster and its live jobs at one moment, ordered by job number."""

    now: float
    cluster: Cluster
    layout: Ints
    """For each slot the number of the job on it, or IDLE, or UNUSABLE."""
    sizes: Ints
    """The numbers of slots that at least one job may use, ascending; the columns of `rate` and `useful`."""
    number: Ints
    """The jobs, by a number that never changes; ascending, in the order of arrival."""
    undecided: Flags
    """True for newcomers that still wait for a verdict."""
    urgent: Flags
    arrived: Floats
    deadline: Floats
    """`inf` where there is none."""
    left: Floats
    """Steps still to do."""
    rate: Floats
    """Steps per second by job and size; 0 where the job may not or cannot run."""
    useful: Floats
    """`rate` without the sizes that are no faster than a smaller one."""
    requested: Ints
    """The size that fixed-size policies give."""
    held: Ints
    """Slots held now."""
    ready_at: Floats
    """From when on the held slots make progress; earlier they pay for the last change."""
    changed_at: Floats
    """When the job's slots last changed."""
    cost: Cost
    rules: Rules
    memory: Any = None
    """What the policy wanted to remember from its last round."""
    bound: Mapping[int, Ints] | None = None
    """For each row that may not run everywhere, the most slots it may have on each node."""

    def __len__(self) -> int:
        return len(self.number)

    @cached_property
    def capacity(self) -> int:
        """Slots that can be used at all."""
        return int(np.count_nonzero(self.layout != UNUSABLE))


def worth_using(rate: Floats) -> Floats:
    """Blank every size that is no faster than a smaller one of the same job."""
    best_below = np.zeros_like(rate)
    best_below[:, 1:] = np.maximum.accumulate(rate, axis=1)[:, :-1]
    return np.where(rate > best_below, rate, 0.0)
