"""What is played: a trace as the live platform gets it, job by job, and the same as the simulator gets it.

Everything here is in the platform's seconds: a trace that is played K times faster has arrivals and deadlines K times
sooner and curves K times steeper. So the simulator is asked exactly what the platform is asked, whatever else is
counted in seconds (costs, intervals, leases of policies), and only its answer is scaled back.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from math import inf, isfinite
from typing import Any

import numpy as np

from tenuto.errors import InputInvalid, Place
from tenuto.model.columns import frozen
from tenuto.sim.trace import Trace
from tenuto.sim.workload import Workload
from tenuto.wire.api import JobIn
from tenuto.wire.problems import validated

LABEL = "replay"
"""The label that all jobs of a rehearsal carry, with the trace's name."""
_NO_NAME = re.compile(r"[^\w .-]+|_")
_LONGEST = 60


@dataclass(frozen=True)
class Score:
    """A trace to be played, in the platform's seconds."""

    workload: Workload
    """Deadlines are as the platform will read them, to the last bit."""
    deadlines: tuple[str, ...]
    """Each job's deadline as it is written; empty for none."""
    speedup: float = 1.0
    """Seconds of the trace in one second of the platform."""

    def __len__(self) -> int:
        return len(self.workload.trace)

    @property
    def label(self) -> str:
        """The value of the label by which the jobs are found again."""
        return _name(self.workload.trace.name)

    def curve(self, row: int) -> dict[int, float]:
        """Steps per second of one job at each size it can have."""
        sizes, rates = self.workload.sizes.tolist(), self.workload.rate[row].tolist()
        return {size: rate for size, rate in zip(sizes, rates, strict=True) if rate > 0.0}

    def form(self, row: int, run: tuple[str, ...], **more: Any) -> dict[str, Any]:
        """One job as it is submitted."""
        trace, curve = self.workload.trace, self.curve(row)
        return {
            "name": f"{self.label} {_name(trace.ids[row])}",
            "run": list(run),
            "workers": f"{min(curve)}..{max(curve)}",
            "preferred": int(trace.requested[row]),
            "total": {"steps": float(trace.steps[row])},
            "curve": {str(size): rate for size, rate in curve.items()},
            "labels": {LABEL: self.label},
            **({"deadline": self.deadlines[row]} if self.deadlines[row] else {}),
            **more,
        }


def score_of(workload: Workload, speedup: float = 1.0) -> Score:
    """Write a trace down for the platform. Raises InputInvalid if a job of it cannot be submitted."""
    trace = workload.trace
    submitted = trace.submitted / speedup
    written = tuple(_written(trace, row, speedup) for row in range(len(trace)))
    # What the platform will make of it: a deadline that needs more digits than it reads is a nanosecond off.
    deadline = [then + _seconds(text) for then, text in zip(submitted.tolist(), written, strict=True)]
    played = replace(
        trace,
        submitted=frozen(submitted),
        deadline=frozen(np.array(deadline, dtype=np.float64)),
        duration=frozen(trace.duration / speedup),
    )
    score = Score(replace(workload, trace=played, rate=frozen(workload.rate * speedup)), written, speedup)
    for row in range(len(score)):
        _check(score, row)
    return score


def _written(trace: Trace, row: int, speedup: float) -> str:
    """A job's deadline, counted from its submission."""
    deadline = float(trace.deadline[row])
    if not isfinite(deadline):
        return ""
    ahead = (deadline - float(trace.submitted[row])) / speedup
    return f"+{ahead:.9f}".rstrip("0").rstrip(".") + "s"


def _seconds(written: str) -> float:
    return float(written[1:-1]) if written else inf


def _check(score: Score, row: int) -> None:
    """Refuse what the server would refuse, before anything is played."""
    try:
        validated(JobIn, score.form(row, ("stand-in",))).deadline_at(0.0)
    except InputInvalid as error:
        trace = score.workload.trace
        place = Place(trace.source, int(trace.line[row]))
        raise InputInvalid(
            f"the live platform takes no such job: {error.field}: {error.problem}",
            remedy=error.remedy,
            place=place,
        ) from None


def _name(text: str) -> str:
    """A name as the platform takes it, whatever stands in the trace."""
    return _NO_NAME.sub("-", text)[:_LONGEST].strip(" .-") or "trace"
