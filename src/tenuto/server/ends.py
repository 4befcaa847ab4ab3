"""The jobs that ended lately, kept in mind so that nobody who looks every second reads a day's jobs every second."""

from __future__ import annotations

import threading
from collections import Counter

from tenuto.model.job import Job
from tenuto.model.phase import PromiseState
from tenuto.store.base import Tx

A_DAY = 86_400.0
LATELY = 60.0
"""Seconds for which a job that has ended is still shown among those that live."""
AT_ONCE = 500
"""Ends that are read at one look; the rest is read at the next ones."""
_OVERLAP = 60.0
"""Seconds that are read again: an end may be written a little later than one that came after it."""


class RecentEnds:
    """What became of the jobs of a day. Safe to use from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ends: dict[str, tuple[float, PromiseState]] = {}
        self._lately: dict[str, Job] = {}
        self._read_to: tuple[float, int] | None = None

    def look(self, tx: Tx, now: float) -> None:
        """Take in what is new."""
        with self._lock:
            after = self._read_to or (now - A_DAY, -1)
            page = tx.ended_jobs(after, AT_ONCE)
            for job in page:
                ended = job.ended_at or now
                self._ends[job.id] = (ended, job.promise)
                if ended > now - LATELY:
                    self._lately[job.id] = job
            if len(page) == AT_ONCE:
                self._read_to = (page[-1].ended_at or now, page[-1].number)
            else:
                self._read_to = (now - _OVERLAP, -1)
            self._forget(now)

    def lately(self, now: float) -> list[Job]:
        """Those that ended a moment ago, the last one first."""
        with self._lock:
            found = [job for job in self._lately.values() if (job.ended_at or 0.0) > now - LATELY]
        return sorted(found, key=lambda job: -(job.ended_at or 0.0))

    def count(self, promise: PromiseState) -> int:
        """How many jobs of a day ended so."""
        with self._lock:
            return Counter(state for _, state in self._ends.values())[promise]

    def _forget(self, now: float) -> None:
        """A dict keeps the order in which jobs came, which is nearly that of their ends."""
        while self._ends and next(iter(self._ends.values()))[0] < now - A_DAY:
            del self._ends[next(iter(self._ends))]
        for id_ in [id_ for id_, job in self._lately.items() if (job.ended_at or 0.0) <= now - LATELY]:
            del self._lately[id_]
