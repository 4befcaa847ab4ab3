"""What can be said for certain about workers, from what the engine shows and what the store knows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from tenuto.engines.base import Observation
from tenuto.model.job import Job
from tenuto.model.node import Node, NodeState
from tenuto.store.base import Attempt
from tenuto.wire.worker import WORKER, ExitReason, WorkerId, WorkerOrder, WorkerSeen, WorkerState


def worker_of(attempt: Attempt) -> WorkerId:
    """Whose start it was."""
    return WorkerId(attempt.job, attempt.generation, attempt.role, attempt.rank)


@dataclass(frozen=True)
class Sight:
    """One moment's view. Nodes that have not been heard of yet are presumed to be as the store has them."""

    seen: Observation
    nodes: Mapping[str, Node]
    """The records, with this moment's news."""
    silent: frozenset[str]
    """Nodes that have been silent for longer than they may."""
    attempts: Mapping[str, Sequence[Attempt]]
    """By job: those that may still run, and those of its last two generations."""
    orders: tuple[WorkerOrder, ...] = ()
    """What was wanted last."""

    @cached_property
    def underway(self) -> Mapping[WorkerId, WorkerOrder]:
        """Workers that were ordered and have not been seen yet: a node may be starting them at this moment."""
        return {
            order.id: order
            for order in self.orders
            if order.id not in self.seen.workers and order.node in self.nodes and order.node not in self.lost
        }

    @cached_property
    def _by_job(self) -> Mapping[str, list[WorkerSeen]]:
        found: dict[str, list[WorkerSeen]] = defaultdict(list)
        for worker in self.seen.workers.values():
            found[worker.id.job].append(worker)
        return found

    def of(self, job: str) -> Sequence[WorkerSeen]:
        """All workers of a job that are shown, of whatever generation, wherever they can still be believed."""
        return [worker for worker in self._by_job.get(job, ()) if worker.node not in self.lost]

    @cached_property
    def lost(self) -> frozenset[str]:
        """Nodes whose workers count as gone."""
        offline = {name for name, node in self.nodes.items() if node.state is NodeState.OFFLINE}
        return frozenset(offline) | self.silent

    def living(self, job: str) -> Iterable[WorkerId]:
        """The workers of a job that run, or may run where nobody has looked since the controller started."""
        for worker in self.of(job):
            if worker.state is not WorkerState.EXITED:
                yield worker.id
        for attempt in self.attempts.get(job, ()):
            if attempt.ended_at is None and self._unheard(attempt.node):
                yield worker_of(attempt)
        yield from (worker for worker in self.underway if worker.job == job)

    def anybody(self, job: str) -> bool:
        """Whether any worker of a job may live."""
        return any(True for _ in self.living(job))

    def elder(self, job: Job) -> bool:
        """Whether a worker of an older generation may live."""
        return any(worker.generation < job.generation for worker in self.living(job.id))

    def begun(self, job: Job) -> bool:
        """Whether a worker of the present generation was started, or is about to be."""
        if any(worker.id.generation == job.generation for worker in self.of(job.id)):
            return True
        if any(worker.job == job.id and worker.generation == job.generation for worker in self.underway):
            return True
        return any(
            attempt.generation == job.generation and attempt.started_at is not None
            for attempt in self.attempts.get(job.id, ())
        )

    def started_ranks(self, job: Job) -> Iterable[int]:
        """The ranks of the present generation's workers that have been started."""
        for worker in self.present(job).values():
            if worker.id.role == WORKER and worker.state is not WorkerState.WAITING:
                yield worker.id.rank
        for attempt in self.expected(job, job.generation):
            if attempt.role == WORKER and attempt.started_at is not None:
                yield attempt.rank

    def present(self, job: Job) -> Mapping[WorkerId, WorkerSeen]:
        """The workers of the present generation that are shown."""
        return {worker.id: worker for worker in self.of(job.id) if worker.id.generation == job.generation}

    def expected(self, job: Job, generation: int) -> Sequence[Attempt]:
        """All workers that a generation was to have."""
        return [attempt for attempt in self.attempts.get(job.id, ()) if attempt.generation == generation]

    def finished(self, job: Job) -> bool:
        """Whether all workers of a generation have ended by themselves with 0: the present one, or the one before.

        Who ends because it was told to has not finished, whatever its exit code.
        """
        shown = {worker.id: worker for worker in self.of(job.id)}
        for generation in (job.generation, job.generation - 1):
            workers = [one for one in self.expected(job, generation) if one.role == WORKER]
            if workers and all(_done(shown.get(worker_of(one)), one) for one in workers):
                return True
        return False

    def _unheard(self, node: str) -> bool:
        return node in self.nodes and node not in self.seen.nodes and node not in self.lost


def _done(worker: WorkerSeen | None, noted: Attempt) -> bool:
    if noted.ended_at is not None:
        return noted.exit_code == 0 and noted.reason == ExitReason.ENDED
    if worker is None or worker.state is not WorkerState.EXITED:
        return False
    return worker.exit_code == 0 and worker.reason in (None, ExitReason.ENDED)
