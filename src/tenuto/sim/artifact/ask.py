"""What one job asks of ElasticFlow's planner, and the answer."""

from __future__ import annotations

from typing import NamedTuple

from tenuto.compiled import compiled
from tenuto.model.columns import Floats
from tenuto.sim.artifact.capacity import aligned
from tenuto.sim.artifact.levels import level_fitting
from tenuto.sim.artifact.state import Rows, Rules


class Ask(NamedTuple):
    """One job's wish."""

    now: float
    slot: float
    total: int
    """All GPUs of the cluster."""
    left: float
    """Iterations still to do."""
    deadline: float
    due: float
    """The deadline, delayed to a whole slot."""
    top: int
    """The highest level that the job and the cluster allow."""
    rate: Floats
    """Iterations per second at each level."""


class Sketch(NamedTuple):
    """A plan's end; its shares stand on the planner's sheet."""

    end: float
    """When the job gives its GPUs back, a whole number of slots; -1 if it would be late."""
    real_end: float
    """When its work is done."""
    steps: int
    """How many of the sheet's first steps belong to the plan. They may reach beyond `end` (Q3)."""
    bill: float
    """GPU seconds, as the reference counts them (Q3)."""


@compiled
def ask_for(rules: Rules, rows: Rows, job: int, now: float) -> Ask:
    """Put a job's wish into words for the planner."""
    row = rows[job]
    return Ask(
        now,
        rules.slot,
        rules.total,
        row.left,
        row.deadline,
        aligned(now, row.deadline, rules.slot),
        min(row.limit, level_fitting(rules.total)),
        row.rate,
    )
