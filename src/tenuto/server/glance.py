"""The whole platform at a glance, looked at once for all who want to know it within a second.

Jobs that have not ended are kept here and brought up to date by what is new, so that a look costs what has changed
since the last one, however many wait.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from threading import Lock
from typing import Any

from tenuto.forecast.rates import rate_at
from tenuto.model.event import Event
from tenuto.model.job import Job
from tenuto.model.node import Node
from tenuto.model.phase import ENDED, PLACED, Phase, PromiseState
from tenuto.monitor.facts import OUTCOMES, Facts, JobFacts, NodeFacts
from tenuto.monitor.prometheus.tidings import count, needs_job
from tenuto.server.platform import Platform
from tenuto.server.recent import last_id
from tenuto.server.show import left_now
from tenuto.store.base import EventQuery, Tx

FRESH = 1.0
"""Seconds for which a look is good enough for the next one who asks."""
PAGE = 500
"""Events that are counted in one transaction."""
MOST_PAGES = 200
"""Pages of events that one look counts; the rest is for the next one."""
_WAITING = (Phase.SUBMITTED, Phase.QUEUED)
_ALARMING = (PromiseState.AT_RISK, PromiseState.BROKEN)


class Glance:
    """Safe to use from any thread; whoever comes while somebody looks waits for what he sees."""

    def __init__(self, here: Platform, clock: Callable[[], float] = time.monotonic) -> None:
        self._here = here
        self._clock = clock
        self._lock = Lock()
        self._jobs: dict[str, Job] = {}
        self._revision = 0
        self._facts: Facts | None = None
        self._looked_at = 0.0
        self._counted = here.store.read(last_id)
        self.read_seconds = 0.0
        """What the last look took."""

    @property
    def counted(self) -> int:
        """The id of the last event that was counted."""
        return self._counted

    def now(self) -> Facts:
        """The platform as it is, or was a moment ago. Raises StoreUnavailable."""
        with self._lock:
            begun = self._clock()
            if self._facts is None or begun - self._looked_at >= FRESH:
                self._facts = self._here.store.read(self._look)
                self._count_events()
                self._here.counts.forget_others(self._jobs)
                self._looked_at = self._clock()
                self.read_seconds = self._looked_at - begun
            return self._facts

    def _look(self, tx: Tx) -> Facts:
        self._catch_up(tx)
        now, jobs = self._here.clock(), self._jobs.values()
        told: Mapping[str, Any] = tx.meta("controller") or {}
        ever: Mapping[str, int] = tx.meta(OUTCOMES) or {}
        waiting = [job.submitted_at for job in jobs if job.phase in _WAITING]
        return Facts(
            at=now,
            jobs=tx.count_jobs(),
            promises=Counter(job.promise for job in jobs),
            outcomes={PromiseState(state): number for state, number in ever.items()},
            queue=len(waiting),
            oldest_wait=max(now - min(waiting), 0.0) if waiting else 0.0,
            nodes=_nodes(tx.nodes(), jobs),
            live=self._live(now),
            controller=str(told.get("state", "unknown")),
        )

    def _catch_up(self, tx: Tx) -> None:
        """Have all jobs that have not ended. May be run again, should the store have to try again."""
        first = self._revision == 0
        for job in tx.live_jobs() if first else tx.jobs_since(self._revision):
            if job.phase in ENDED:
                self._jobs.pop(job.id, None)
            else:
                self._jobs[job.id] = job
        for gone in () if first else tx.removed_since(self._revision):
            self._jobs.pop(gone, None)
        self._revision = tx.revision

    def _live(self, now: float) -> list[JobFacts]:
        etas = self._here.outlook.last.etas
        by_need = sorted(self._jobs.values(), key=_how_late_it_is_told)
        return [_job(job, now, etas.get(job.id)) for job in by_need]

    def _count_events(self) -> None:
        for _ in range(MOST_PAGES):
            page = self._here.store.read(self._next_events)
            for event, job in page:
                count(self._here.counts, event, job)
            if page:
                self._counted = page[-1][0].id
            if len(page) < PAGE:
                return

    def _next_events(self, tx: Tx) -> Sequence[tuple[Event, Job | None]]:
        events = tx.events(EventQuery(after=self._counted, limit=PAGE))
        return [(event, tx.job(event.job) if needs_job(event) else None) for event in events]


def _how_late_it_is_told(job: Job) -> tuple[bool, bool, int]:
    """Where there is no room for all, those come first whose promises need somebody, then those with workers."""
    return job.promise not in _ALARMING, job.phase not in PLACED, job.number


def _job(job: Job, now: float, eta: Any) -> JobFacts:
    return JobFacts(
        id=job.id,
        name=job.spec.name,
        owner=job.owner,
        state=job.phase,
        promise=job.promise,
        workers=job.workers,
        step=job.progress.step,
        left=left_now(job.progress, now) if job.total else None,
        deadline=job.deadline,
        promised=None if job.contract is None else job.contract.promised,
        idle_slots=0 if job.idle_since is None else sum(map(len, job.slots.values())),
        finish=None if eta is None else eta.finish,
        slots_lost=_slots_lost(job),
    )


def _slots_lost(job: Job) -> float:
    """What a job loses because it does not scale in proportion, in slots; below 0 if it scales better than that."""
    if not job.slots or not job.curve:
        return 0.0
    alone = rate_at(job.curve, 1)[0]
    return job.workers - rate_at(job.curve, job.workers)[0] / alone if alone else 0.0


def _nodes(nodes: Iterable[Node], jobs: Iterable[Job]) -> list[NodeFacts]:
    there: dict[str, dict[int, str]] = {}
    for job in jobs:
        if job.spec.cpu_only:
            continue
        for name, numbers in job.places.items():
            for number in numbers:
                # Who holds a slot comes before his guests.
                if job.slots or number not in there.get(name, {}):
                    there.setdefault(name, {})[number] = job.id
    return [_node(node, there.get(node.name, {})) for node in nodes]


def _node(node: Node, there: Mapping[int, str]) -> NodeFacts:
    return NodeFacts(
        name=node.name,
        state=node.state,
        slots=len(node.slots),
        used=len(there),
        held={slot.device: there.get(index, "") for index, slot in enumerate(node.slots) if slot.device},
    )
