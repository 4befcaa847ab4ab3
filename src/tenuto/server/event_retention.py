"""Removal of events that are too old or too many, and what readers are told about it.

Events are removed from the oldest on, except that a job with more than its share loses its own oldest first: one that
floods the platform with events cannot displace those of others. Ids are never given again, so a cursor that points to
an event that was removed goes on at the oldest one behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from threading import Event as Flag

from tenuto.server.recent import last_id
from tenuto.settings import Quotas
from tenuto.store.base import EventQuery, Store, Tx

BATCH_ROWS = 500
"""Rows that one transaction removes: other writers wait for some milliseconds."""
LOW_MARK = 0.95
"""The part of the quota that is left when it was exceeded. The event that says what was removed must fit in, or an
idle platform would remove one event and add one in every round."""


@dataclass(slots=True)
class Budget:
    """The work that one round may still do."""

    steps: int
    stop: Flag = field(default_factory=Flag)
    unfinished: bool = False
    """Whether something was left over."""

    def take(self) -> bool:
        """Whether one more step may be done."""
        if self.steps <= 0 or self.stop.is_set():
            self.unfinished = True
            return False
        self.steps -= 1
        return True


def removed_key(job: str) -> str:
    """The store's name for the id up to which events of a job were removed because it had too many.

    Without a job: of any job.
    """
    return f"events_removed/{job}"


def removed_until(tx: Tx, job: str = "") -> int:
    """The id up to which events were removed, of a job or of all; readers behind it may have missed some."""
    of_job: int = tx.meta(removed_key(job)) or 0
    return max(tx.oldest_event() - 1, of_job)


@dataclass(frozen=True, slots=True)
class EventRetention:
    """Removes events of one store."""

    store: Store
    clock: Callable[[], float]
    quotas: Quotas
    cursors: Sequence[Callable[[], float]] = ()
    """The ids up to which parts of the server have read events; later ones are never removed."""

    def remove(self, budget: Budget) -> int:
        """Remove what is too old, then what is too much; returns how many events."""
        return self._remove_old(budget) + self._remove_excess(budget)

    def count(self) -> int:
        """How many events are kept.

        Ids ascend by one, so the difference of the newest and the oldest one is an upper bound. Events are counted one
        by one only if that bound exceeds the quota: removal of a job's own events leaves holes.
        """
        span = self.store.read(lambda tx: last_id(tx) - tx.oldest_event() + 1)
        if not self.quotas.events or span <= self.quotas.events:
            return span
        return sum(self.store.read(lambda tx: tx.count_events()).values())

    def _readable(self, tx: Tx) -> int:
        """The id before which every part of the server has read everything."""
        return int(min([last_id(tx), *(cursor() for cursor in self.cursors)])) + 1

    def _remove_old(self, budget: Budget) -> int:
        if not self.quotas.event_seconds:
            return 0
        count = 0
        while budget.take():
            gone = self.store.write(self._remove_old_batch)
            count += gone
            if gone < BATCH_ROWS:
                break
        return count

    def _remove_old_batch(self, tx: Tx) -> int:
        now = self.clock()
        page = tx.events(EventQuery(limit=BATCH_ROWS))
        # The age of an event with a time in the future is not known; that of its neighbours decides.
        young = (event.id for event in page if now - self.quotas.event_seconds <= event.at <= now)
        end = next(young, page[-1].id + 1 if page else 0)
        return tx.remove_events(min(end, self._readable(tx)), BATCH_ROWS)

    def _remove_excess(self, budget: Budget) -> int:
        quota = self.quotas.events
        if not quota or self.count() <= quota:
            return 0
        counts = self.store.read(lambda tx: tx.count_events())
        total = sum(counts.values())
        excess = total - min(int(quota * LOW_MARK), quota - 1)
        share, count = int(quota * self.quotas.job_share), 0
        for job in sorted(filter(None, counts), key=lambda job: -counts[job]):
            surplus = min(counts[job] - share, excess - count)
            if surplus <= 0:
                break
            count += self._remove_oldest(surplus, budget, job)
        return count + self._remove_oldest(excess - count, budget)

    def _remove_oldest(self, wanted: int, budget: Budget, job: str | None = None) -> int:
        count = 0
        while count < wanted and budget.take():
            limit = min(BATCH_ROWS, wanted - count)
            gone = self.store.write(lambda tx: self._remove_batch(tx, limit, job))  # noqa: B023 - done at once
            count += gone
            if gone < limit:
                break
        return count

    def _remove_batch(self, tx: Tx, limit: int, job: str | None) -> int:
        before = self._readable(tx)
        if job is not None:
            page = tx.events(EventQuery(job=job, before=before, limit=limit))
            for name in (job, "") if page else ():
                key = removed_key(name)
                tx.set_meta(key, max(page[-1].id, tx.meta(key) or 0))
        return tx.remove_events(before, limit, job=job)
