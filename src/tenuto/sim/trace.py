"""A trace: the jobs that a cluster was given, in columns, ordered by submission."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from tenuto.model.columns import Flags, Floats, Ints, frozen

if TYPE_CHECKING:
    from collections.abc import Iterable


@dataclass(frozen=True)
class Trace:
    """Jobs in the order of submission; jobs submitted at the same time keep their order in the file.

    Times are seconds since the trace's own beginning. A job without a deadline has `inf` there and is
    marked as best effort.
    """

    name: str
    source: str
    """The file it was read from, for messages; the name again if there is no file."""
    ids: tuple[str, ...]
    models: tuple[str, ...]
    """Each job's model."""
    batch: Ints
    """Each job's global batch size."""
    submitted: Floats
    steps: Floats
    deadline: Floats
    best_effort: Flags
    requested: Ints
    """Slots that the user asked for: the size at which `duration` holds, and that of fixed-size policies."""
    duration: Floats
    """Seconds the job takes on the requested slots."""
    position: Ints
    """0-based position of the job in its file."""
    line: Ints
    """1-based line of the job in its file."""

    def __len__(self) -> int:
        return len(self.ids)


def in_order_of_submission(trace: Trace) -> Trace:
    """Sort jobs that stand in the order of their file, and freeze their columns."""
    order = np.argsort(trace.submitted, kind="stable")
    places = order.tolist()
    return replace(
        trace,
        ids=_picked(trace.ids, places),
        models=_picked(trace.models, places),
        batch=frozen(trace.batch[order]),
        submitted=frozen(trace.submitted[order]),
        steps=frozen(trace.steps[order]),
        deadline=frozen(trace.deadline[order]),
        best_effort=frozen(trace.best_effort[order]),
        requested=frozen(trace.requested[order]),
        duration=frozen(trace.duration[order]),
        position=frozen(trace.position[order]),
        line=frozen(trace.line[order]),
    )


def _picked(column: tuple[str, ...], places: Iterable[int]) -> tuple[str, ...]:
    return tuple(column[place] for place in places)
