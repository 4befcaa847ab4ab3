"""One round of retention: logs, records, events, idempotency keys and ended jobs that are too old or too much.

A round works in small steps, each a transaction of some milliseconds or the files of one attempt, and does a bounded
number of them; what is left over is for the next round. It leaves an event that says what was removed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from threading import Event as Flag

from tenuto.errors import Conflict, NotFound
from tenuto.model.event import Event
from tenuto.model.job import Job
from tenuto.model.phase import ENDED
from tenuto.monitor.facts import Usage
from tenuto.server import wishes
from tenuto.server.event_retention import BATCH_ROWS, Budget, EventRetention
from tenuto.server.file_retention import AttemptFiles, FileRetention
from tenuto.server.platform import Platform
from tenuto.store.base import Tx

log = logging.getLogger(__name__)

ACTOR = "retention"
KIND = "retention"
"""Of the event that says what a round has removed."""
MAX_STEPS = 500
"""Steps of one round: transactions, and attempts whose files are removed."""
KEYS_EVERY_SECONDS = 3600.0
"""Keys have no index by their age, so all of them are looked through, but seldom."""
JOBS_AT_ONCE = 100
"""Jobs that are read in one transaction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Removed:
    """What a round has removed."""

    log_bytes: int = 0
    record_bytes: int = 0
    events: int = 0
    keys: int = 0
    jobs: int = 0

    def __bool__(self) -> bool:
        return any(asdict(self).values())

    def __str__(self) -> str:
        """In words."""
        words = {
            "jobs": "ended jobs",
            "log_bytes": "bytes of logs",
            "record_bytes": "bytes of records",
            "events": "events",
            "keys": "idempotency keys",
        }
        counts = asdict(self)
        return ", ".join(f"{counts[name]:,} {word}" for name, word in words.items() if counts[name])


class RetentionService:
    """Belongs to one thread; `usage` may be read from any."""

    def __init__(
        self, here: Platform, cursors: Sequence[Callable[[], float]] = (), stop: Flag | None = None
    ) -> None:
        """`cursors`: the ids up to which parts of the server have read events; later events are not removed."""
        self._here = here
        self._quotas = quotas = here.settings.retention
        self._stop = stop or Flag()
        files, store, clock = here.files, here.store, here.clock
        self._logs = FileRetention(store, AttemptFiles.of_logs(files.logs), clock, quotas, quotas.log_bytes)
        self._records = FileRetention(
            store, AttemptFiles.of_records(files.steps), clock, quotas, quotas.record_bytes
        )
        self._events = EventRetention(store, clock, quotas, cursors)
        self._keys_looked_at = float("-inf")
        self.usage: Usage | None = None
        """As the last round has left it; None before the first one."""
        self.unfinished = False
        """Whether the last round has left something over."""

    def run_round(self) -> Removed:
        """Remove what is too much or too old. Raises StoreUnavailable."""
        budget = Budget(MAX_STEPS, self._stop)
        removed = Removed(
            jobs=self._remove_jobs(budget),
            log_bytes=self._logs.remove(budget),
            record_bytes=self._records.remove(budget),
            events=self._events.remove(budget),
            keys=self._remove_keys(budget),
        )
        if removed:
            log.info("removed %s", removed)
            self._here.store.write(lambda tx: tx.add_event(self._event(removed)))
        self.usage = self._measure()
        self.unfinished = budget.unfinished
        return removed

    def _event(self, removed: Removed) -> Event:
        return Event(
            kind=KIND,
            at=self._here.clock(),
            actor=ACTOR,
            after="removed",
            reason=f"removed {removed}: too old, or more than its quota",
            data=asdict(removed),
        )

    def _measure(self) -> Usage:
        return Usage(
            log_bytes=self._logs.used_bytes(),
            log_quota_bytes=self._quotas.log_bytes,
            record_bytes=self._records.used_bytes(),
            record_quota_bytes=self._quotas.record_bytes,
            events=self._events.count(),
            event_quota=self._quotas.events,
        )

    def _remove_jobs(self, budget: Budget) -> int:
        """Remove jobs that ended long ago, and everything that belongs to them but their events."""
        if not self._quotas.job_seconds:
            return 0
        count = 0
        for job in self._ended_before(self._here.clock() - self._quotas.job_seconds):
            if not budget.take():
                break
            with suppress(NotFound, Conflict):  # a user has deleted it meanwhile
                self._here.store.write(lambda tx: self._delete(tx, job))  # noqa: B023 - done at once
                self._here.forget(job.id)
                count += 1
        return count

    def _ended_before(self, moment: float) -> Iterator[Job]:
        """Jobs in the order of their ends, except those for which a job waits that has not ended."""
        after = (0.0, -1)
        while page := self._here.store.read(lambda tx: tx.ended_jobs(after, JOBS_AT_ONCE)):  # noqa: B023 - as above
            for job in page:
                after = (job.ended_at or 0.0, job.number)
                if after[0] >= moment:
                    return
                waiting = self._here.store.read(lambda tx: tx.successors(job.id))  # noqa: B023 - as above
                if all(successor.phase in ENDED for successor in waiting):
                    yield job

    def _delete(self, tx: Tx, job: Job) -> None:
        wishes.delete(tx, wishes.Asker(ACTOR, self._here.clock()), job.id, cascade=False)

    def _remove_keys(self, budget: Budget) -> int:
        now = self._here.clock()
        if not self._quotas.key_seconds or now - self._keys_looked_at < KEYS_EVERY_SECONDS:
            return 0
        before, count = now - self._quotas.key_seconds, 0
        while budget.take():
            old = self._here.store.read(lambda tx: tx.old_keys(before, BATCH_ROWS))
            if not old:
                self._keys_looked_at = now
                break
            count += self._here.store.write(lambda tx: tx.remove_keys(old, before))  # noqa: B023 - as above
        return count
