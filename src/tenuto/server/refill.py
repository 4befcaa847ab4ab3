"""What workers told and a crash of the server kept from becoming durable is filled into the history again."""

from __future__ import annotations

import logging
from functools import cache
from itertools import islice
from threading import Event as Flag

from tenuto.model.job import Job
from tenuto.model.series import JOB
from tenuto.server.platform import Platform
from tenuto.server.training_series import TrainingSeries
from tenuto.store.base import Attempt, EventQuery, Tx
from tenuto.store.steps import WORKER_ITSELF

log = logging.getLogger(__name__)

OVERLAP = 120.0
"""Seconds before the last durable moment that are filled in as well: records may come late."""
LINGER = 600.0
"""Seconds before the last event: of jobs that ended later something may be missing."""
_MOST_ENDED = 1000
_AT_ONCE = 1000
"""Records; no more of them are in memory."""


def refill(here: Platform, enough: Flag) -> None:
    """Add what is missing of jobs that live or have just ended. A point that is there already stays what it is."""
    settings = here.settings.monitor
    # Its own memory of workers: those who tell something meanwhile are at later steps.
    training = TrainingSeries(here.files.series, here.clock, settings.minutes)
    for job in here.store.read(_jobs):
        since = max(here.files.series.kept(JOB, job.id) - OVERLAP, here.clock() - settings.raw)
        if enough.is_set():
            return
        _refill(here, training, job, since)


def _jobs(tx: Tx) -> list[Job]:
    last = tx.events(EventQuery(limit=1, last=True))
    ended = tx.ended_jobs((last[0].at - LINGER, -1), _MOST_ENDED) if last else []
    return [*tx.live_jobs(), *ended]


def _refill(here: Platform, training: TrainingSeries, job: Job, since: float) -> None:
    @cache
    def attempts() -> list[Attempt]:
        return here.store.read(lambda tx: tx.attempts(job.id))

    count = 0
    for stream in here.files.steps.streams(job.id):
        if stream.teller == WORKER_ITSELF:
            missing = here.files.steps.since(stream, since)
            while batch := list(islice(missing, _AT_ONCE)):
                training.note(job, stream, batch, attempts)
                count += len(batch)
    if count:
        log.info("%d records are in the history of numbers again", count, extra={"job": job.id})
