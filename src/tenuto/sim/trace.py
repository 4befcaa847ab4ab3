"""A trace: the jobs that a cluster was given, in columns, ordered by submission."""

from __future__ import annotations

from dataclasses import dataclass

from tenuto.model.columns import Flags, Floats, Ints


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
