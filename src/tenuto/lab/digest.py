"""Results in few numbers: rows and short lines that a page draws without reading the files of the cells.

Times are seconds since the trace began. A line has at most a few hundred points, however long the trace is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from tenuto.lab.results import Result
from tenuto.model.columns import Flags, Floats
from tenuto.sim.outcome import Events

BINS = 200
"""Points of a line over time."""
QUANTILES = 100
"""Points of a distribution."""

Line = list[list[float]]


@dataclass(frozen=True)
class Telling:
    """What became of the same jobs under one policy, or really."""

    name: str
    row: dict[str, Any]
    """The numbers of a replay; None where they are not known."""
    submitted: Floats
    admitted: Flags
    finished: Floats
    """NaN for those that never did."""
    events: Events | None = None

    @classmethod
    def of(cls, result: Result) -> Telling:
        """Read what a cell wrote."""
        jobs = result.jobs()
        row = asdict(result.summary)
        return cls(row["policy"], row, jobs.submitted, jobs.admitted, jobs.finished, result.events())

    def shown(self) -> dict[str, Any]:
        """In few numbers."""
        return {
            "name": self.name,
            "row": self.row,
            "allocated": [] if self.events is None else averages(self.events, self._end),
            "submitted": counts(self.submitted),
            "admitted": counts(self.submitted[self.admitted]),
            "jct": distribution(self.finished - self.submitted),
        }

    @property
    def _end(self) -> float:
        done = self.finished[~np.isnan(self.finished)]
        return float(done.max()) if len(done) else 0.0


def averages(events: Events, end: float) -> Line:
    """The slots in use, averaged over equal parts of the time until the last finish."""
    if not len(events.time) or end <= events.time[0]:
        return []
    edges = np.linspace(events.time[0], end, BINS + 1)
    times = np.append(events.time, max(end, float(events.time[-1])))
    work = np.concatenate([[0.0], np.cumsum(events.busy * np.diff(times))])
    means = np.diff(np.interp(edges, times, work)) / np.diff(edges)
    return _line(edges[:-1], means)


def counts(moments: Floats) -> Line:
    """How many there were up to each of some moments."""
    if not len(moments):
        return []
    ordered = np.sort(moments)
    places = np.unique(np.linspace(0, len(ordered) - 1, min(BINS, len(ordered))).round().astype(np.int64))
    return _line(ordered[places], (places + 1).astype(np.float64))


def distribution(spans: Floats) -> Line:
    """Which share of all jobs was done within which time; those that never were stay missing at the end."""
    done = np.sort(spans[~np.isnan(spans)])
    if not len(done):
        return []
    places = np.unique(np.linspace(0, len(done) - 1, min(QUANTILES, len(done))).round().astype(np.int64))
    return _line(done[places], (places + 1) / len(spans))


def _line(across: Floats, up: Sequence[float] | Floats) -> Line:
    return [[round(float(x), 3), float(f"{y:.5g}")] for x, y in zip(across.tolist(), list(up), strict=True)]
