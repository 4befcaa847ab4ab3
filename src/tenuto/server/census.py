"""How many workers each job has, over time: told at every change, and now and then while nothing else is told of it.

Jobs whose commands report nothing have a history by this as well. At the start of a server what a crash has left out
of the history is filled in from the records that workers told.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass
from threading import Event as Flag
from threading import Thread

from tenuto.model.job import Job
from tenuto.model.phase import ENDED
from tenuto.model.series import JOB, Points, Subject
from tenuto.server.platform import Platform
from tenuto.server.refill import refill
from tenuto.server.training_series import WHOLE
from tenuto.store.base import StoreUnavailable, Tx

log = logging.getLogger(__name__)

EVERY = 10.0
"""Seconds between two points of a job that does not change."""
REST = 1.0
"""Seconds between two looks, so that a burst of commits is read at once."""


@dataclass(frozen=True, slots=True)
class _Standing:
    """What was told of a job."""

    workers: Mapping[str, int]
    """On each node."""
    generation: int
    at: float


class Census:
    """A thread of its own; nobody waits for it."""

    def __init__(self, here: Platform) -> None:
        self._here = here
        self._revision = 0
        self._jobs: dict[str, Job] = {}
        """Those that live."""
        self._told: dict[str, _Standing] = {}
        self._all_at = float("-inf")
        """When all of them were looked at."""
        self._bell, self._enough = Flag(), Flag()
        self._thread = Thread(target=self._run, name="census", daemon=True)

    def start(self) -> None:
        """Begin to count."""
        self._thread.start()

    def stop(self) -> None:
        """Count no more."""
        self._enough.set()
        self._bell.set()
        if self._thread.is_alive():
            self._thread.join(4 * REST)

    def look(self) -> None:
        """Tell what has changed, and what was told too long ago."""
        now = self._here.clock()
        news, gone = self._here.store.read(self._catch_up)
        for id_ in gone:
            self._told.pop(id_, None)
            self._here.training.forget(id_)
        if now - self._all_at >= EVERY / 2:
            news, self._all_at = list(self._jobs.values()), now
        found = [points for job in news for points in self._news_of(job, now)]
        if found:
            self._here.files.series.add(found)

    def _run(self) -> None:
        end_listening = self._here.store.listen(lambda _: self._bell.set())
        act = self._begin
        while not self._enough.is_set():
            try:
                act()
                act = self.look
            except StoreUnavailable as trouble:
                log.warning("%s", trouble)
            except Exception:
                log.exception("this is a fault of tenuto; training goes on, some of its numbers are missing")
            self._enough.wait(REST)
            self._bell.wait(EVERY)
            self._bell.clear()
        end_listening()

    def _begin(self) -> None:
        self.look()
        refill(self._here, self._enough)

    def _catch_up(self, tx: Tx) -> tuple[list[Job], list[str]]:
        """Read what is new: the jobs that were written, and those that were deleted."""
        first = self._revision == 0
        news = tx.live_jobs() if first else tx.jobs_since(self._revision)
        gone = [] if first else tx.removed_since(self._revision)
        self._jobs |= {job.id: job for job in news}
        for id_ in gone:
            self._jobs.pop(id_, None)
        self._revision = tx.revision
        return news, gone

    def _news_of(self, job: Job, now: float) -> list[Points]:
        workers = {node: len(numbers) for node, numbers in job.places.items() if numbers}
        known = self._told.get(job.id)
        if job.phase in ENDED:
            self._jobs.pop(job.id, None)
            self._told.pop(job.id, None)
        if known is None and not workers:
            return []
        if known is not None and (known.workers, known.generation) == (workers, job.generation):
            silent_since = max(known.at, self._here.training.heard(job.id))
            if not workers or now - silent_since < EVERY:
                return []
        if job.phase not in ENDED:
            self._told[job.id] = _Standing(workers, job.generation, now)
        before = {} if known is None else dict.fromkeys(known.workers, 0)
        return _points(job, {**before, **workers}, now)


def _points(job: Job, workers: Mapping[str, int], now: float) -> list[Points]:
    told = {"workers": float(sum(workers.values())), "generation": float(job.generation)}
    rows = {"": {name: told.get(name) for name in WHOLE}}
    rows |= {
        f"node:{node}": {"samples_per_second": None, "workers": float(count)}
        for node, count in workers.items()
    }
    return [
        Points(
            subject=Subject(JOB, job.id, part),
            at=[now],
            values={name: [value] for name, value in row.items()},
        )
        for part, row in rows.items()
    ]
