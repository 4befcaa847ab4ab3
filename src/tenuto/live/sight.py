"""What can be said for certain about workers, from what the engine shows and what the store knows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Never

from tenuto.engines.base import Observation
from tenuto.engines.launch import member_ids
from tenuto.model.job import Job
from tenuto.model.node import Node, NodeState
from tenuto.store.base import Attempt
from tenuto.wire.worker import WORKER, ExitReason, WorkerId, WorkerOrder, WorkerSeen, WorkerState

_NOBODY: Sequence[Never] = []


def worker_of(attempt: Attempt) -> WorkerId:
    """Whose start it was."""
    return WorkerId(attempt.job, attempt.generation, attempt.role, attempt.rank)


def belongs(job: Job, worker: WorkerId) -> bool:
    """Whether a worker is one of those that the job has now."""
    if job.spec.in_place:
        return worker in member_ids(job)
    return worker.generation == job.generation


@dataclass(frozen=True)
class Sight:
    """One moment's view. Nodes that have not been heard of yet are presumed to be as the store has them."""

    seen: Observation
    nodes: Mapping[str, Node]
    """The records, with this moment's news."""
    silent: frozenset[str]
    """Nodes that have been silent for longer than they may."""
    attempts: Mapping[str, Sequence[Attempt]]
    """By job: those that may still run, those of its present workers, and those of its last two generations."""
    orders: Mapping[WorkerId, WorkerOrder] = field(default_factory=dict)
    """What was wanted last."""

    @cached_property
    def underway(self) -> Mapping[WorkerId, WorkerOrder]:
        """Workers that were ordered and have not been seen yet: a node may be starting them at this moment."""
        unseen = set(self.orders).difference(self.seen.workers)
        return {
            worker: order
            for worker, order in (self.orders.items() if unseen else ())
            if worker in unseen and order.node in self.nodes and order.node not in self.lost
        }

    @cached_property
    def _underway_by_job(self) -> Mapping[str, list[WorkerOrder]]:
        found: dict[str, list[WorkerOrder]] = defaultdict(list)
        for worker, order in self.underway.items():
            found[worker.job].append(order)
        return found

    def underway_of(self, job: str) -> Sequence[WorkerOrder]:
        """Those of one job."""
        return self._underway_by_job.get(job, _NOBODY)

    @cached_property
    def _by_job(self) -> Mapping[str, list[WorkerSeen]]:
        found: dict[str, list[WorkerSeen]] = defaultdict(list)
        for worker in self.seen.workers.values():
            found[worker.id.job].append(worker)
        return found

    def shown(self, job: str) -> Sequence[WorkerSeen]:
        """All workers of a job that are shown, of whatever generation, wherever."""
        return self._by_job.get(job, _NOBODY)

    def of(self, job: str) -> Sequence[WorkerSeen]:
        """All workers of a job that are shown wherever they can still be believed."""
        shown = self.shown(job)
        return [worker for worker in shown if worker.node not in self.lost] if self.lost else shown

    @cached_property
    def lost(self) -> frozenset[str]:
        """Nodes whose workers count as gone."""
        offline = {name for name, node in self.nodes.items() if node.state is NodeState.OFFLINE}
        return frozenset(offline) | self.silent

    def whereabouts(self, job: str) -> Iterable[tuple[WorkerId, str]]:
        """The workers of a job that run, or may run where nobody has looked since the controller started; and where."""
        for worker in self.of(job):
            if worker.state is not WorkerState.EXITED:
                yield worker.id, worker.node
        for attempt in self.attempts.get(job, ()):
            if attempt.ended_at is None and self.unheard(attempt.node):
                yield worker_of(attempt), attempt.node
        yield from ((order.id, order.node) for order in self.underway_of(job))

    def anybody(self, job: str) -> bool:
        """Whether any worker of a job may live."""
        return any(True for _ in self.whereabouts(job))

    def elder(self, job: Job) -> bool:
        """Whether a worker may live that must have gone before those of today begin."""
        return any(worker.generation < job.oldest for worker, _ in self.whereabouts(job.id))

    def begun(self, job: Job) -> bool:
        """Whether a worker was started, or is about to be, since the job was last started as a whole."""
        if any(worker.id.generation >= job.oldest for worker in self.of(job.id)):
            return True
        if any(order.id.generation >= job.oldest for order in self.underway_of(job.id)):
            return True
        return any(
            attempt.generation >= job.oldest and attempt.started_at is not None
            for attempt in self.attempts.get(job.id, ())
        )

    def started_ranks(self, job: Job) -> Iterable[int]:
        """The ranks of the present generation's workers that have been started."""
        shown = {
            worker.id for worker in self.present(job).values() if worker.state is not WorkerState.WAITING
        }
        noted = {worker_of(one) for one in self.expected(job) if one.started_at is not None}
        started = [worker for worker in shown | noted if worker.role == WORKER]
        if not job.spec.in_place:
            return [worker.rank for worker in started]
        return [rank for rank, worker in enumerate(member_ids(job)) if worker in started]

    def present(self, job: Job) -> Mapping[WorkerId, WorkerSeen]:
        """The workers of the present generation that are shown."""
        return {worker.id: worker for worker in self.of(job.id) if belongs(job, worker.id)}

    def expected(self, job: Job) -> Sequence[Attempt]:
        """All workers that the present generation was to have."""
        return [one for one in self.attempts.get(job.id, ()) if belongs(job, worker_of(one))]

    def finished(self, job: Job) -> bool:
        """Whether all workers of a generation have ended by themselves with 0: the present one, or the one before.

        Who ends because it was told to has not finished, whatever its exit code.
        """
        if job.spec.in_place:
            return self._finished_in_place(job)
        shown = {worker.id: worker for worker in self.of(job.id)}
        for generation in (job.generation, job.generation - 1):
            workers = [
                one
                for one in self.attempts.get(job.id, ())
                if one.role == WORKER and one.generation == generation
            ]
            if workers and all(done(shown.get(worker_of(one)), one) for one in workers):
                return True
        return False

    def _finished_in_place(self, job: Job) -> bool:
        """Whether everybody who trained in the last generation has ended by itself with 0.

        Who never joined it does not count: newcomers that came too late, and those that were lost on the way. Where
        nobody has joined anything (a program that does not rescale by itself), all members count.
        """
        shown = {worker.id: worker for worker in self.of(job.id)}
        noted = {worker_of(one): one for one in self.attempts.get(job.id, ())}
        ended = {id_ for id_ in {*shown, *noted} if done(shown.get(id_), noted.get(id_))}
        last = max((self.joined(id_) for id_ in ended & shown.keys()), default=None)
        if last is None:
            return False
        if any(one.ended_at is None and self.unheard(one.node) for one in noted.values()):
            return False
        living = {worker for worker, _ in self.whereabouts(job.id)}
        return all(self.joined(worker) < last for worker in {*member_ids(job), *living} - ended)

    def joined(self, worker: WorkerId) -> int:
        """The generation that a worker has joined last, as far as it was ever seen; 0 for none."""
        seen = self.seen.workers.get(worker)
        return 0 if seen is None else seen.generation or 0

    def unheard(self, node: str) -> bool:
        """Whether nobody has looked at a node since the controller started."""
        return node in self.nodes and node not in self.seen.nodes and node not in self.lost


def done(worker: WorkerSeen | None, noted: Attempt | None) -> bool:
    """Whether a worker has ended by itself with 0, as it is seen now or as it was noted."""
    if noted is not None and noted.ended_at is not None:
        return noted.exit_code == 0 and noted.reason == ExitReason.ENDED
    if worker is None or worker.state is not WorkerState.EXITED:
        return False
    return worker.exit_code == 0 and worker.reason in (None, ExitReason.ENDED)
