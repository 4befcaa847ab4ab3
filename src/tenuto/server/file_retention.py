"""Removal of logs and records of jobs: by the age of jobs that have ended, and by the room that all take together."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from tenuto.errors import TenutoError
from tenuto.model.phase import ENDED
from tenuto.server.event_retention import Budget
from tenuto.settings import Quotas
from tenuto.store.base import Attempt, Store, Tx
from tenuto.store.file_quota import JobUse, plan_cuts
from tenuto.store.job_files import JobFiles
from tenuto.store.logs import LogStore
from tenuto.store.steps import StepStore
from tenuto.wire.worker import WorkerId

log = logging.getLogger(__name__)

SETTLE_SECONDS = 600.0
"""Seconds after the end of a job in which the rest of its logs and records may still arrive, and in which
`server.refill` may still read them. Until then the job counts as one that lives."""
JOBS_AT_ONCE = 100
"""Jobs that are read in one transaction."""
EVERYTHING = 1 << 62
"""Bytes; more than any log has."""
_UNKNOWN_JOB_ENDED_AT = 0.0
"""Files of a job that was deleted go before all others."""

Drop = Callable[[int, bool], int]
"""Removes at least so many bytes of one attempt; the flag says that the attempt has ended. Returns how many."""


@dataclass(frozen=True, slots=True)
class AttemptFiles:
    """What is kept in files for each attempt of each job."""

    files: JobFiles
    attempts: Callable[[str], Sequence[tuple[WorkerId, Drop]]]
    remove: Callable[[str], None]

    @classmethod
    def of_logs(cls, logs: LogStore) -> AttemptFiles:
        """What workers printed."""

        def drop(worker: WorkerId) -> Drop:
            return lambda wanted, ended: logs.drop(worker, wanted, ended=ended)

        return cls(logs.files, lambda job: [(one, drop(one)) for one in logs.workers(job)], logs.remove)

    @classmethod
    def of_records(cls, steps: StepStore) -> AttemptFiles:
        """What workers reported of their steps."""
        return cls(
            steps.files,
            lambda job: [
                (stream.worker, lambda wanted, ended, stream=stream: steps.drop(stream, wanted, ended=ended))  # type: ignore[misc]
                for stream in steps.streams(job)
            ],
            steps.remove,
        )


@dataclass(slots=True)
class FileRetention:
    """Removes files of one kind. Belongs to one thread."""

    store: Store
    kept: AttemptFiles
    clock: Callable[[], float]
    quotas: Quotas
    quota_bytes: int
    """Of all jobs together; 0 for no limit."""
    _ended: dict[str, float] = field(default_factory=dict)
    """When jobs have ended that have files; no job lives again."""

    def used_bytes(self) -> int:
        """Of all jobs together."""
        return sum(self.kept.files.measure().values())

    def remove(self, budget: Budget) -> int:
        """Remove what is too old, then what is too much; returns how many bytes."""
        return self._remove_old(budget) + self._remove_excess(budget)

    def _remove_old(self, budget: Budget) -> int:
        if not self.quotas.file_seconds:
            return 0
        before = self.clock() - self.quotas.file_seconds
        old = [use.job for use in self._uses() if use.ended_at is not None and use.ended_at < before]
        return sum(self._cut(job, EVERYTHING, budget) for job in old)

    def _remove_excess(self, budget: Budget) -> int:
        """Cut jobs as `plan_cuts` says; where one could not lose all that, the others lose the rest."""
        gone, stuck = 0, set[str]()
        while self.quota_bytes and self.used_bytes() > self.quota_bytes:
            uses = list(self._uses())
            room = self.quota_bytes - sum(use.bytes for use in uses if use.job in stuck)
            cuts = plan_cuts([use for use in uses if use.job not in stuck], room, self.quotas.job_share)
            if not cuts or budget.unfinished:
                break
            for cut in cuts:
                size = self._cut(cut.job, cut.bytes, budget)
                gone += size
                if size < cut.bytes:
                    stuck.add(cut.job)
        return gone

    def _uses(self) -> Iterator[JobUse]:
        sizes = self.kept.files.measure()
        self._find_ends(sizes)
        settled = self.clock() - SETTLE_SECONDS
        for job, size in sizes.items():
            ended = self._ended.get(job)
            lives = ended is None or ended >= settled
            yield JobUse(job=job, bytes=size, ended_at=None if lives else ended)

    def _find_ends(self, sizes: Mapping[str, int]) -> None:
        """Have the end of every job with files that has ended; each is looked up once."""
        self._ended = {job: end for job, end in self._ended.items() if job in sizes}
        unknown = iter([job for job in sizes if job not in self._ended])
        while some := list(islice(unknown, JOBS_AT_ONCE)):
            found = self.store.read(lambda tx: {job: _end_of(tx, job) for job in some})
            self._ended |= {job: end for job, end in found.items() if end is not None}

    def _cut(self, job: str, wanted: int, budget: Budget) -> int:
        """Remove files of a job; what is wrong with them stops no other job's removal."""
        if not budget.take():
            return 0
        try:
            is_known, attempts = self.store.read(lambda tx: (_is_known(tx, job), tx.attempts(job)))
            if not is_known:
                size = self.kept.files.measure().get(job, 0)
                self.kept.remove(job)
                return size
            return self._cut_attempts(job, wanted, attempts, budget)
        except (OSError, ValueError, TenutoError) as error:
            log.warning("files of job %s cannot be removed: %s", job, error)
            return 0

    def _cut_attempts(self, job: str, wanted: int, attempts: Sequence[Attempt], budget: Budget) -> int:
        """Whole attempts that have ended first, the oldest before the others; then old parts of the others."""
        job_ended = self._ended.get(job, self.clock()) < self.clock() - SETTLE_SECONDS
        settled = self.clock() - SETTLE_SECONDS
        ends = {WorkerId(one.job, one.generation, one.role, one.rank): one.ended_at for one in attempts}
        gone, later = 0, []
        for worker, drop in self.kept.attempts(job):
            end = ends.get(worker)
            if not (job_ended or (end is not None and end < settled)):
                later.append(drop)
            elif gone < wanted and budget.take():
                gone += drop(EVERYTHING, True)
        for drop in later:
            if gone < wanted and budget.take():
                gone += drop(wanted - gone, False)
        return gone


def _is_known(tx: Tx, job: str) -> bool:
    """Whether the store has a job, be its record readable or not."""
    return tx.job(job) is not None or tx.unreadable_job(job) is not None


def _end_of(tx: Tx, job: str) -> float | None:
    """When a job ended; None if it lives. One whose record cannot be read may live."""
    record = tx.job(job)
    if record is None:
        return _UNKNOWN_JOB_ENDED_AT if not _is_known(tx, job) else None
    return record.ended_at if record.phase in ENDED else None
