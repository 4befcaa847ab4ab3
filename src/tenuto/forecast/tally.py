"""What became of promises and forecasts, counted job by job: a report over any number of jobs in little memory."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from tenuto.model.job import Foretold, Job
from tenuto.model.node import Node
from tenuto.model.phase import ENDED, Phase, PromiseState

MOST_CAUSES = 20
"""Causes that are told apart; further ones are counted together."""
MOST_NAMED = 10
"""Jobs that are named for each."""
FURTHER = "other causes"


@dataclass(slots=True)
class Cause:
    """Why something happened, how often, and to whom."""

    count: int = 0
    jobs: list[tuple[str, str]] = field(default_factory=list)
    """Ids and names of the first ones."""

    def add(self, job: Job) -> None:
        """Count a job."""
        self.count += 1
        if len(self.jobs) < MOST_NAMED:
            self.jobs.append((job.id, job.spec.name))


@dataclass(slots=True)
class Held:
    """How forecasts of one moment fared."""

    jobs: int = 0
    by_median: int = 0
    """Jobs that were done by the moment that was as likely too early as too late."""
    by_late: int = 0
    """Jobs that were done by the moment that should hold nine times of ten."""
    off: float = 0.0
    """Seconds between the forecast and the truth, either way, summed up."""
    late: float = 0.0
    """Seconds by which jobs were later than foretold, less those by which they were earlier."""

    def add(self, told: Foretold, ended_at: float) -> None:
        """Compare a forecast with the truth."""
        self.jobs += 1
        self.by_median += ended_at <= told.finish
        self.by_late += ended_at <= told.late
        self.off += abs(ended_at - told.finish)
        self.late += ended_at - told.finish


@dataclass(slots=True)
class Tally:
    """Everything that is counted between two moments."""

    since: float
    until: float
    ended: dict[Phase, int] = field(default_factory=dict)
    promises: dict[PromiseState, int] = field(default_factory=dict)
    broken: dict[str, Cause] = field(default_factory=dict)
    declined: dict[str, Cause] = field(default_factory=dict)
    forecasts: dict[str, Held] = field(default_factory=dict)
    """By the moment at which they were made."""
    rescales: int = 0
    used: float = 0.0
    """Slot-seconds that jobs held."""

    def add(self, job: Job) -> None:
        """Count a job, whether it has ended or is on its way."""
        if job.phase in ENDED:
            self.ended[job.phase] = self.ended.get(job.phase, 0) + 1
        if job.promise is not PromiseState.NONE:
            self.promises[job.promise] = self.promises.get(job.promise, 0) + 1
        if job.promise is PromiseState.BROKEN:
            _cause(self.broken, _in_short(job.breach)).add(job)
        if job.phase is Phase.DECLINED:
            _cause(self.declined, job.why).add(job)
        if job.phase is Phase.SUCCEEDED and job.ended_at is not None:
            for told in job.foretold:
                self.forecasts.setdefault(told.moment, Held()).add(told, job.ended_at)
        self.rescales += _rescales(job)
        self.used += self._used(job)

    def _used(self, job: Job) -> float:
        """The slot-seconds of a job in this time, as if it had held as many slots all the time that it ran."""
        held = sum(map(len, job.slots.values()))
        all_used = (
            job.slot_seconds + held * max(self.until - job.progress.changed_at, 0.0)
            if held
            else job.slot_seconds
        )
        begin = job.started_at if job.started_at is not None else job.submitted_at
        end = self.until if job.ended_at is None else job.ended_at
        inside = max(min(end, self.until) - max(begin, self.since), 0.0)
        return all_used * (min(inside / (end - begin), 1.0) if end > begin else 1.0)


def available(nodes: Iterable[Node], since: float, until: float) -> float:
    """Slot-seconds that these nodes had between two moments, as if they had been there since they joined."""
    return sum(len(node.slots) * max(until - max(since, node.joined_at), 0.0) for node in nodes)


def _cause(known: dict[str, Cause], name: str) -> Cause:
    if name not in known and len(known) >= MOST_CAUSES:
        name = FURTHER
    return known.setdefault(name, Cause())


def _in_short(breach: str) -> str:
    """A cause without what differs from job to job: how often, and what exactly was forced."""
    return breach.partition(" (")[0].partition(":")[0] or "unknown"


def _rescales(job: Job) -> int:
    """Changes of slots after the first; a job that rescales in place takes its leave by a generation of its own."""
    leaving = job.spec.in_place and not job.slots
    return max(job.generation - 1 - leaving, 0)
