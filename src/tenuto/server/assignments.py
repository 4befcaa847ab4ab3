"""Which workers are, or were, ordered on which node: what a node may report, log and record."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable

from tenuto.errors import NotAllowed
from tenuto.model.job import Job
from tenuto.store.base import Store, Tx
from tenuto.wire.worker import WORKER, WorkerId

_MOST_REMEMBERED = 100_000


class NotYourWorker(NotAllowed):
    """A node spoke for a worker that was never ordered there."""

    http_status = 403


class Assignments:
    """Thread-safe.

    An order that was given a moment ago is known to the engine only (`ordered`); everything older is in the store: as
    an attempt, or as a place of its job from which the order follows, which matters after a restart of the server.
    """

    def __init__(self, store: Store, ordered: Callable[[str, WorkerId], bool] | None = None) -> None:
        self._store = store
        self._ordered = ordered
        self._known: OrderedDict[tuple[str, WorkerId], None] = OrderedDict()
        self._lock = threading.Lock()

    def has(self, node: str, worker: WorkerId) -> bool:
        """Whether the worker was ordered on the node. Raises StoreUnavailable."""
        key = (node, worker)
        with self._lock:
            if key in self._known:
                self._known.move_to_end(key)
                return True
        ordered = self._ordered is not None and self._ordered(node, worker)
        if not ordered and not self._store.read(lambda tx: _is_stored(tx, node, worker)):
            return False
        with self._lock:
            self._known[key] = None
            while len(self._known) > _MOST_REMEMBERED:
                self._known.popitem(last=False)
        return True

    def check(self, node: str, worker: WorkerId) -> None:
        """Raise NotYourWorker unless the worker was ordered on the node."""
        if not self.has(node, worker):
            raise NotYourWorker(
                f"worker {worker} was never ordered on node {node}",
                code="not_your_worker",
                remedy="A node speaks only for the workers that it was told to start",
            )


def _is_stored(tx: Tx, node: str, worker: WorkerId) -> bool:
    if "\0" in worker.job or (job := tx.job(worker.job)) is None:
        return False
    for attempt in tx.attempts(job.id):
        if (attempt.generation, attempt.role, attempt.rank) == (worker.generation, worker.role, worker.rank):
            return attempt.node == node
    return node in _planned(tx, job, worker)


def _planned(tx: Tx, job: Job, worker: WorkerId) -> list[str]:
    """Where the job's record places a worker of which no attempt is known yet (see `engines.launch`)."""
    if job.spec.in_place:
        return [
            member.node
            for member in job.members
            if (member.born, member.rank, WORKER) == (worker.generation, worker.rank, worker.role)
        ]
    if worker.generation != job.generation:
        return []
    numbers = {node.name: node.number for node in tx.nodes()}
    used = sorted(
        (name for name, slots in job.places.items() if slots and name in numbers), key=numbers.__getitem__
    )
    by_rank = [name for name in used for _ in job.places[name]]
    if worker.role != WORKER:
        return by_rank[:1]
    return by_rank[worker.rank : worker.rank + 1] if worker.rank >= 0 else []
