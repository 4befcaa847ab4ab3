"""What became of one job, told alike by the simulator and by the live platform, so that the two can be compared."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from math import isnan

import numpy as np

from tenuto.model.event import Event
from tenuto.model.job import Job, Reply
from tenuto.model.phase import Phase
from tenuto.rehearsal.score import Score
from tenuto.sim.outcome import Outcome

SCALED = "scaled"
"""The kind of the events that tell a change of slots."""


@dataclass(frozen=True, slots=True)
class Change:
    """From when on a job had so many slots; 0 if it had to give all of them away."""

    at: float
    slots: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Walk:
    """One job on its way. Times are in seconds since the trace's beginning; None for what never came."""

    job: str
    """As the trace calls it."""
    submitted: float
    admitted: bool
    """False for jobs refused at arrival."""
    why: str = ""
    """The code of the refusal."""
    promised: float | None = None
    started: float | None = None
    finished: float | None = None
    changes: tuple[Change, ...] = ()
    """Starts, changes of size or place, and stops, but for the end."""

    @property
    def verdict(self) -> str:
        """In a word."""
        return "accepted" if self.admitted else "declined"

    @property
    def duration(self) -> float | None:
        """Seconds from submission to finish (JCT)."""
        return None if self.finished is None else self.finished - self.submitted

    def in_trace_time(self, speedup: float) -> Walk:
        """The same in the seconds of a trace that was played faster."""
        return replace(
            self,
            submitted=self.submitted * speedup,
            promised=_times(self.promised, speedup),
            started=_times(self.started, speedup),
            finished=_times(self.finished, speedup),
            changes=tuple(Change(change.at * speedup, change.slots) for change in self.changes),
        )


def _times(seconds: float | None, speedup: float) -> float | None:
    return None if seconds is None else seconds * speedup


def simulated_walks(score: Score, outcome: Outcome) -> list[Walk]:
    """What the simulator made of the trace, in the platform's seconds; the outcome must have its layouts."""
    trace, changes = score.workload.trace, _changes(score, outcome)
    return [
        Walk(
            job=trace.ids[row],
            submitted=float(trace.submitted[row]),
            admitted=bool(outcome.admitted[row]),
            why=outcome.reason[row],
            promised=_known(outcome.promised[row]),
            started=_known(outcome.started[row]),
            finished=_known(outcome.finished[row]),
            changes=tuple(changes[row]),
        )
        for row in range(len(trace))
    ]


def _known(seconds: float) -> float | None:
    return None if isnan(seconds) else float(seconds)


def _changes(score: Score, outcome: Outcome) -> list[list[Change]]:
    """For each job, when its slots changed and to how many; from the layouts after each event."""
    layouts = outcome.events.layouts
    assert layouts is not None, "a replay that is to be compared keeps its layouts"
    trace = score.workload.trace
    row_of = np.argsort(trace.position)  # layouts name jobs by their position in the file
    found: list[list[Change]] = [[] for _ in range(len(trace))]
    before = np.full(score.workload.cluster.total, -1, dtype=np.int64)
    for at, layout in zip(outcome.events.time.tolist(), layouts, strict=True):
        other = before != layout
        for position in np.unique(np.concatenate([before[other], layout[other]])).tolist():
            row = int(row_of[position]) if position >= 0 else -1
            if row >= 0 and not outcome.finished[row] <= at:
                found[row].append(Change(at, int(np.count_nonzero(layout == position))))
        before = layout
    return found


def live_walk(name: str, job: Job, scaled: Iterable[Event], since: float = 0.0) -> Walk:
    """What the platform made of a job, in its seconds since the beginning."""
    contract = job.contract
    refused = job.phase in (Phase.DECLINED, Phase.UNSCHEDULABLE)
    promised = None if contract is None or contract.reply is not Reply.ADMITTED else contract.promised
    return Walk(
        job=name,
        submitted=job.submitted_at - since,
        admitted=not refused,
        why=contract.why if refused and contract is not None else "",
        promised=None if promised is None else promised - since,
        started=None if job.started_at is None else job.started_at - since,
        finished=job.ended_at - since if job.phase is Phase.SUCCEEDED and job.ended_at else None,
        changes=tuple(Change(event.at - since, int(event.data["workers"])) for event in scaled),
    )


def ends(walks: Sequence[Walk]) -> tuple[int, int]:
    """How many were declined, and how many have finished."""
    return sum(not walk.admitted for walk in walks), sum(walk.finished is not None for walk in walks)
