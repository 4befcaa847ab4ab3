"""The controller's copy of what is live in the store, kept up to date by asking only for what is new.

Steps left are advanced from round to round with the very arithmetic of the simulated world, so that both decide
alike to the last bit; the store gets a new anchor (`Progress`) only when something about the job changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any

from tenuto.forecast.pauses import PAUSES
from tenuto.forecast.spread import Past, past_in
from tenuto.live.sight import belongs, worker_of
from tenuto.model.job import Job, Progress
from tenuto.model.node import Node
from tenuto.model.phase import ENDED, Phase
from tenuto.settings import Scheduling, scheduling_in_force
from tenuto.store.base import Attempt, Tx
from tenuto.wire.worker import WorkerId


class Meter:
    """How much every job still has to do, advanced moment by moment."""

    def __init__(self) -> None:
        self._at = -inf
        self._known: dict[str, tuple[Progress, float]] = {}

    def advance(self, jobs: Iterable[Job], now: float) -> Mapping[str, float]:
        """Let the jobs work until now; whose anchor is new begins at that anchor."""
        known: dict[str, tuple[Progress, float]] = {}
        for job in jobs:
            progress = job.progress
            anchor, left = self._known.get(job.id, (None, 0.0))
            if anchor is progress or anchor == progress:
                known[job.id] = (progress, _worked(left, self._at, now, progress))
            else:
                known[job.id] = (progress, _worked(progress.left, progress.as_of, now, progress))
        self._known = known
        self._at = now
        return {job: left for job, (_, left) in known.items()}


def _worked(left: float, since: float, now: float, progress: Progress) -> float:
    if progress.speed == 0.0:
        return left
    return left - max(now - max(since, progress.ready_at), 0.0) * progress.speed


@dataclass(frozen=True)
class Records:
    """Everything about live jobs and nodes at one revision of the store."""

    revision: int = 0
    jobs: Mapping[str, Job] = field(default_factory=dict)
    """By id, in the order of their numbers."""
    nodes: Mapping[str, Node] = field(default_factory=dict)
    attempts: Mapping[str, Sequence[Attempt]] = field(default_factory=dict)
    """By job: those that may still run, those of its present workers, and those of its last two generations."""
    before: Mapping[str, Phase | None] = field(default_factory=dict)
    """The phases of jobs that others wait for; None if one is not there any more."""
    scheduling: Scheduling = field(default_factory=Scheduling)
    tuning: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the policy itself."""
    draining: bool = False
    epoch: float | None = None
    pauses: Mapping[str, Sequence[float]] = field(default_factory=dict)
    """What rescales in place were measured to cost."""
    past: Past = field(default_factory=dict)
    """How far forecasts were off so far."""


class Mirror:
    """Reads what is new. Belongs to the controller's thread."""

    def __init__(self, default: Scheduling) -> None:
        self._default = default
        self._revision = 0
        self._jobs: dict[str, Job] = {}
        """In the order of their numbers: later ones are higher."""
        self._followers: set[str] = set()
        """Jobs that were told to wait for another."""
        self._attempts: dict[str, dict[WorkerId, Attempt]] = {}
        self._listed: dict[str, Sequence[Attempt]] = {}
        """The same as rounds want them."""
        self._records: Records | None = None
        self._past: Past = {}

    def refresh(self, tx: Tx) -> Records:
        """Catch up with the store."""
        if self._records is not None and self._records.revision == tx.revision:
            return self._records
        self._read_jobs(tx)
        self._revision = tx.revision
        self._records = self._everything(tx)
        return self._records

    def _everything(self, tx: Tx) -> Records:
        return Records(
            revision=tx.revision,
            jobs=dict(self._jobs),
            nodes={node.name: node for node in tx.nodes()},
            attempts=dict(self._listed),
            before=_predecessors(tx, (self._jobs[id_] for id_ in self._followers)),
            scheduling=scheduling_in(tx, self._default),
            tuning=tuning_in(tx),
            draining=bool(tx.meta("draining")),
            epoch=tx.meta("epoch"),
            pauses=tx.meta(PAUSES) or {},
            past=self._past,
        )

    def learn_attempts(self, attempts: Iterable[Attempt]) -> None:
        """Remember what was just committed."""
        touched = set()
        for attempt in attempts:
            if attempt.job in self._jobs:
                self._attempts.setdefault(attempt.job, {})[worker_of(attempt)] = attempt
                touched.add(attempt.job)
        self._listed |= {job: list(self._attempts[job].values()) for job in touched}

    def _read_jobs(self, tx: Tx) -> None:
        first = self._revision == 0
        learned = first
        for job in tx.live_jobs() if first else tx.jobs_since(self._revision):
            if job.phase in ENDED:
                self._forget(job.id)
                learned = True
                continue
            if job.id not in self._jobs:
                # A job that was never started has none to look for.
                known = tx.attempts(job.id) if job.generation else ()
                self._attempts[job.id] = {worker_of(one): one for one in known}
            self._learn(job)
        for gone in () if first else tx.removed_since(self._revision):
            self._forget(gone)
        if learned:  # it is written with the ends of jobs only
            self._past = past_in(tx.meta)

    def _learn(self, job: Job) -> None:
        self._jobs[job.id] = job
        if job.spec.after is not None:
            self._followers.add(job.id)
        else:
            self._followers.discard(job.id)
        attempts = self._attempts[job.id]
        for worker, attempt in list(attempts.items()):
            old = attempt.ended_at is not None and attempt.generation < job.generation - 1
            if old and not belongs(job, worker):
                del attempts[worker]
        self._listed[job.id] = list(attempts.values())

    def _forget(self, job: str) -> None:
        self._jobs.pop(job, None)
        self._followers.discard(job)
        self._attempts.pop(job, None)
        self._listed.pop(job, None)


def waits_for(job: Job) -> str:
    """The id of the job whose end a job waits for, or will wait for when it is resumed."""
    asks = job.phase in (Phase.SUBMITTED, Phase.HELD, Phase.PAUSED, Phase.UNSCHEDULABLE)
    return job.spec.after.job if asks and job.spec.after is not None else ""


def _predecessors(tx: Tx, jobs: Iterable[Job]) -> Mapping[str, Phase | None]:
    wanted = {waits_for(job) for job in jobs} - {""}
    found = {name: tx.job(name) for name in wanted}
    return {name: None if job is None else job.phase for name, job in found.items()}


def scheduling_in(tx: Tx, default: Scheduling) -> Scheduling:
    """What `up` and `policy set` wrote down, else the default."""
    return scheduling_in_force(tx.meta("scheduling"), default)


def tuning_in(tx: Tx) -> Mapping[str, Any]:
    """The policy's own settings, as `policy set` wrote them down."""
    written = tx.meta("scheduling")
    return (written.get("settings") or {}) if isinstance(written, dict) else {}
