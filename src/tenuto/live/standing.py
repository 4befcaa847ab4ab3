"""Jobs about which there is nothing new: what a look at them showed before, it would show again.

A look at a job depends on its record, its workers as they are seen, the nodes, and the time. Where the first three are
as they were and no moment has come that its record names, the same look need not be taken again. At any time most jobs
stand so, and a tick costs what has changed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Any

from tenuto.live.change import Change
from tenuto.live.mirror import Records
from tenuto.live.promise import PATIENCE
from tenuto.live.sight import Sight
from tenuto.live.walk import walk
from tenuto.live.workers import REPORTS_EVERY
from tenuto.model.job import Job
from tenuto.model.phase import OPEN_PROMISES, Phase
from tenuto.wire.worker import WorkerOrder, WorkerSeen, WorkerState

ROUNDING = 1.0
"""Seconds for which a moment that has come may still be to come by the clock of those who heed it."""


@dataclass(frozen=True, slots=True)
class _Looked:
    """A look that showed nothing new, and what it depended on."""

    job: Job
    workers: Sequence[WorkerSeen]
    underway: Sequence[WorkerOrder]
    before: Phase | None
    """Of the job that it waits for."""
    until: float
    """A moment that changes what is seen, although nothing happens."""


class Standing:
    """Looks at jobs, and remembers where that showed nothing. Belongs to the controller."""

    def __init__(self) -> None:
        self._looked: dict[str, _Looked] = {}
        self._sight: Sight | None = None
        self._ground: Any = None

    def __len__(self) -> int:
        return len(self._looked)

    def look(self, change: Change, sight: Sight, records: Records) -> Change:
        """Bring one job up to date, if there can be anything new about it."""
        if sight is not self._sight:
            self._begin(sight, records)
        looked = self._looked.get(change.job.id)
        if (
            looked is not None
            and change.at < looked.until
            and _is_as_before(looked, change.job, sight, records)
        ):
            return change
        after = walk(change, sight, records)
        if after is change:
            self._note(change, sight, records)
        return after

    def _begin(self, sight: Sight, records: Records) -> None:
        """Forget all looks if nodes or rules are others than they were, and those at jobs that are gone."""
        ground = (
            list(sight.nodes.values()),
            sight.lost,
            sight.seen.nodes.keys(),
            records.scheduling,
            records.draining,
        )
        if ground != self._ground:
            self._looked.clear()
        for gone in self._looked.keys() - records.jobs.keys():
            del self._looked[gone]
        self._ground, self._sight = ground, sight

    def _note(self, change: Change, sight: Sight, records: Records) -> None:
        job = change.job
        workers, until = sight.shown(job.id), _until(job, sight.shown(job.id), change.at)
        if until > change.at:
            before = _before(job, records)
            self._looked[job.id] = _Looked(job, workers, sight.underway_of(job.id), before, until)


def _is_as_before(looked: _Looked, job: Job, sight: Sight, records: Records) -> bool:
    return (
        looked.job is job
        and looked.workers == sight.shown(job.id)
        and looked.underway == sight.underway_of(job.id)
        and looked.before is _before(job, records)
    )


def _before(job: Job, records: Records) -> Phase | None:
    return None if job.spec.after is None else records.before.get(job.spec.after.job)


def _until(job: Job, workers: Sequence[WorkerSeen], now: float) -> float:
    """The first moment after now at which a look may show something else; now, if it may at any time."""
    if any(worker.state is WorkerState.EXITED for worker in workers):
        return now  # what its end means depends on when its node was heard
    moments = [inf]
    if job.promise in OPEN_PROMISES and job.contract is not None and job.contract.promised is not None:
        moments.append(job.contract.promised + PATIENCE)
    if job.spec.max_duration is not None and job.places:
        moments.append(job.progress.changed_at + job.spec.max_duration - job.ran_for)
    if any(worker.step is not None or worker.data for worker in workers):
        moments.append(job.progress.as_of + REPORTS_EVERY)
    return min(moment for moment in moments if moment > now - ROUNDING)
