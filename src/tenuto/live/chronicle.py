"""The past as shadows are given it, kept up to date by reading only what is new."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from math import inf

from tenuto.forecast.alongside import Outage, Past
from tenuto.forecast.ground import ground_of
from tenuto.forecast.past import LeftOut, PastJob, past_of
from tenuto.forecast.shadow import MOST_JOBS, WINDOW
from tenuto.model.job import Job
from tenuto.model.phase import ENDED
from tenuto.store.base import Tx
from tenuto.store.history import events_of, jobs_of_a_time, node_events, outages


@dataclass(frozen=True)
class Chapter:
    """What happened in the last week, and what could not be told of it."""

    past: Past
    guessed: Counter[str]
    left_out: Counter[str]
    more: bool
    """There were more jobs than are looked at."""


class Chronicle:
    """Belongs to the thread of the shadows."""

    def __init__(self, window: float = WINDOW, most: int = MOST_JOBS) -> None:
        self._window, self._most = window, most
        self._revision = 0
        self._jobs: dict[str, Job] = {}
        self._told: dict[str, tuple[int, PastJob | LeftOut]] = {}
        self._more = False

    def read(self, tx: Tx, now: float) -> Chapter:
        """Catch up with the store."""
        since = now - self._window
        self._catch_up(tx, since)
        self._forget_before(since)
        told = [self._past_of(tx, job, now) for job in self._jobs.values()]
        jobs = [one for one in told if isinstance(one, PastJob)]
        jobs.sort(key=lambda job: (job.arrived, job.number))
        guessed = Counter(guess.value for job in jobs for guess in job.guesses)
        left_out = Counter(one.value for one in told if isinstance(one, LeftOut))
        down = [Outage(begin, inf if end is None else end) for begin, end in outages(tx)]
        epoch = tx.meta("epoch")
        past = Past(jobs, ground_of(tx.nodes(), node_events(tx)), down, now if epoch is None else epoch)
        return Chapter(past, guessed, left_out, self._more)

    def _catch_up(self, tx: Tx, since: float) -> None:
        if self._revision == 0:
            jobs, self._more = jobs_of_a_time(tx, since, self._most)
            self._jobs = {job.id: job for job in jobs}
        else:
            self._jobs |= {job.id: job for job in tx.jobs_since(self._revision)}
            for gone in tx.removed_since(self._revision):
                self._jobs.pop(gone, None)
        self._revision = tx.revision

    def _forget_before(self, since: float) -> None:
        """Keep what is within the time and the bounds: the newest."""
        kept = [job for job in self._jobs.values() if job.ended_at is None or job.ended_at >= since]
        kept.sort(key=lambda job: job.number)
        self._more = self._more or len(kept) > self._most
        self._jobs = {job.id: job for job in kept[-self._most :]}
        self._told = {job: told for job, told in self._told.items() if job in self._jobs}

    def _past_of(self, tx: Tx, job: Job, now: float) -> PastJob | LeftOut:
        known = self._told.get(job.id)
        if known is not None and known[0] == job.revision and job.phase in ENDED:
            return known[1]
        told = past_of(job, events_of(tx, job.id), now)
        self._told[job.id] = (job.revision, told)
        return told
