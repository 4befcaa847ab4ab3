"""Reservations: the plan that proved each promise, kept until the promise is fulfilled.

A job's reservation is a sequence of segments: from `at[k]` on it is owed `size[k]` slots, until the next
segment begins; the last one ends at `end`. Jobs are known by number, so that the value outlives a snapshot.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tenuto.model.columns import Floats, Ints, frozen


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of time in which a job is owed a number of slots."""

    begin: float
    end: float
    slots: int


@dataclass(frozen=True, slots=True)
class Reservations:
    """The reservations of all promised jobs, as columns."""

    number: Ints
    """The jobs, ascending."""
    offset: Ints
    """Where each job's segments begin in `at` and `size`."""
    parts: Ints
    """How many segments each job has."""
    end: Floats
    """When each job's last segment ends."""
    at: Floats
    size: Ints

    def of(self, number: int) -> tuple[Segment, ...]:
        """One job's segments; none if it has no promise."""
        row = int(np.searchsorted(self.number, number))
        if row == len(self.number) or self.number[row] != number:
            return ()
        first, last = int(self.offset[row]), int(self.offset[row] + self.parts[row])
        ends = [*self.at[first + 1 : last].tolist(), float(self.end[row])]
        return tuple(
            Segment(begin, end, slots)
            for begin, end, slots in zip(
                self.at[first:last].tolist(), ends, self.size[first:last].tolist(), strict=True
            )
        )


def no_reservations() -> Reservations:
    """Nothing has been promised yet."""
    floats, ints = frozen(np.empty(0)), frozen(np.empty(0, dtype=np.int64))
    return Reservations(ints, ints, ints, floats, floats, ints)
