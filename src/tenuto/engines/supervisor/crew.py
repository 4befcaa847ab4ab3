"""All workers of the node: takes them over, starts, watches, stops and forgets them. Never waits for one of them."""

from __future__ import annotations

import logging
import math
import os
import select
import time
from collections.abc import Callable, Iterator
from typing import Any

from tenuto.engines.supervisor.converge import Held
from tenuto.engines.supervisor.crews.eviction import tell_of_loss, tell_of_problem
from tenuto.engines.supervisor.leftovers import kill_leftovers, kill_orphans
from tenuto.engines.supervisor.limits import over_limit
from tenuto.engines.supervisor.records import Records
from tenuto.engines.supervisor.shim.processes import children_by_parent
from tenuto.engines.supervisor.upload import Uploads
from tenuto.engines.supervisor.warm.pool import WarmPool
from tenuto.engines.supervisor.worker import Worker, adopt, start
from tenuto.wire.worker import ExitReason, WorkerId, WorkerOrder

log = logging.getLogger(__name__)
_LOOK_AGAIN = 0.02
"""Seconds between two looks at a worker whose end nobody will tell us of."""
_MEMORY_EVERY = 0.5


class Crew:
    """The workers that have a record here."""

    def __init__(self, records: Records, uploads: Uploads, bell: int, pool: WarmPool) -> None:
        self._records = records
        self._node = uploads.node
        self._pool = pool
        self._uploads = uploads
        self._bell = bell
        self._poll = select.poll()
        self._poll.register(bell, select.POLLIN)
        self._workers: dict[WorkerId, Worker] = {}
        self._watched: dict[int, Worker] = {}
        self._memory_at = math.inf
        found = list(records.workers())
        if orphans := kill_orphans(records.directory / "workers", {files.name for files in found}):
            log.warning("processes of workers whose records were deleted are killed: %s", orphans)
        for files in found:
            try:
                worker = adopt(records, files)
            except Exception:
                log.exception("the worker of %s cannot be taken over", files.directory)
                continue
            if worker is not None:
                self._take_on(worker)

    def __iter__(self) -> Iterator[Worker]:
        return iter(self._workers.values())

    def get(self, id: WorkerId) -> Worker | None:  # noqa: A002
        """The worker, if it has a record here."""
        return self._workers.get(id)

    @property
    def all_gone(self) -> bool:
        """Whether nothing runs here, for certain."""
        return all(worker.end is not None for worker in self)

    def held(self, received: int, keeps: Callable[[WorkerId], bool]) -> dict[WorkerId, Held]:
        """What there is, for the comparison with what is wanted; the server has the reports up to `received`."""
        return {
            id: Held(
                slot=worker.order.slot,
                gone=worker.end is not None,
                stopping=worker.stopping,
                told=0 < worker.shown <= received
                and worker.shim_watch is None
                and self._uploads.is_done(worker.order.id),
                kept=worker.order.linked and keeps(id),
                shares=worker.order.shares,
            )
            for id, worker in self._workers.items()  # noqa: A001
        }

    def start(self, order: WorkerOrder) -> bool:
        """Start a worker; False if there is no room for its record now."""
        try:
            pool = self._pool if order.linked else None
            self._take_on(start(self._records, order, pool))
        except OSError as error:
            log.warning("%s cannot be started now: %s", order.id, error)
            return False
        return True

    def stop(self, id: WorkerId, *, quiet: bool = False) -> None:  # noqa: A002
        """End a worker that is not wanted; `quiet` if it knows that already."""
        worker = self._workers[id]
        worker.stop(ExitReason.STOPPED, "", worker.order.grace, quiet=quiet)

    def stop_all(self, reason: ExitReason, message: str) -> None:
        """End all that were not told to yet."""
        for worker in self:
            if worker.end is None and not worker.stopping:
                worker.stop(reason, message, worker.order.grace)

    def kill_unknown(self) -> None:
        """Kill workers whose shim has not said yet who it is, and cannot say it any more; the shim then ends."""
        for worker in self:
            if worker.end is None and worker.running is None:
                kill_leftovers(worker.files.directory / "report", None)

    def forget(self, id: WorkerId) -> None:  # noqa: A002
        """Delete what is left of a worker."""
        worker = self._workers.pop(id)
        self._uploads.forget(id)
        try:
            self._records.forget(worker.files)
        except OSError as error:
            worker.failures.note(f"its record cannot be deleted: {error}")

    def wait(self, until: float) -> None:
        """Wait for rings and deaths until the time has come, and take in what they mean."""
        self._pool.mind()
        now = time.monotonic()
        until = min(until, self._memory_at)
        if any(worker.unwatched for worker in self):
            until = min(until, now + _LOOK_AGAIN)
        for descriptor, _ in self._poll.poll(max(0, math.ceil((until - now) * 1000))):
            if descriptor == self._bell:
                self._heed_bell()
            else:
                self._poll.unregister(descriptor)
                self._watched.pop(descriptor).shim_has_gone()
        for worker in self:
            if worker.unwatched:
                self._look_for_death(worker)
        self._mind_memory()

    def look_around(self) -> None:
        """See how far the workers are, and whether a ring was missed."""
        for worker in self:
            if worker.end is None:
                self._alone(worker, worker.look_at_report, worker.look_at_status, worker.look)
            self._alone(worker, lambda worker=worker: self._note_problem(worker))  # type: ignore[misc]

    def look_at_stages(self) -> None:
        """See where the workers stand that rescale in place."""
        for worker in self:
            self._alone(worker, worker.look_at_status)

    def _take_on(self, worker: Worker) -> None:
        self._workers[worker.order.id] = worker
        self._uploads.add(worker.order, worker.files)
        self._after_look(worker)

    def _heed_bell(self) -> None:
        try:
            names = set(os.read(self._bell, 1 << 16).decode(errors="replace").split("\n"))
        except BlockingIOError:
            return
        for worker in self:
            if worker.end is None and worker.files.name in names:
                self._alone(worker, worker.look_at_status, worker.look)

    def _look_for_death(self, worker: Worker) -> None:
        self._alone(worker, worker.look_for_death)

    def _alone(self, worker: Worker, *looks: Callable[[], Any]) -> None:
        """Look at one worker. Whatever its files do to those who look, the others are looked at as ever."""
        failures = worker.failures
        if not failures.is_due(time.monotonic()):
            return
        try:
            for look in looks:
                look()
            self._after_look(worker)
        except Exception as error:
            if not isinstance(error, OSError):
                log.exception("this is a fault of tenuto; the other workers are looked after as ever")
            failures.failed(f"it cannot be looked at: {error}")
        else:
            if failures.count:
                failures.succeeded()

    def _note_problem(self, worker: Worker) -> None:
        """Log what is wrong with a worker's files, and tell the server once."""
        found = worker.files.take_problem() or ("" if worker.watch is None else worker.watch.problem)
        found = found or self._uploads.problem(worker.order.id)
        worker.failures.note(found)
        if found:
            tell_of_problem(worker, self._node, found)

    def _after_look(self, worker: Worker) -> None:
        """Watch a shim that has become known; complete the log of a worker that has ended."""
        watch = worker.shim_watch
        if watch is not None and watch not in self._watched:
            self._watched[watch] = worker
            self._poll.register(watch, select.POLLIN)
        if worker.end is not None:
            tell_of_loss(worker, self._node)
            self._uploads.finish(worker.order.id, worker.end.log_bytes)
        elif worker.order.memory is not None:
            self._memory_at = min(self._memory_at, time.monotonic() + _MEMORY_EVERY)

    def _mind_memory(self) -> None:
        """Kill those that use more memory than they may."""
        if time.monotonic() < self._memory_at:
            return
        limited = [worker for worker in self if worker.order.memory is not None and worker.end is None]
        children = children_by_parent() if limited else {}
        for worker in limited:
            if worker.running is None or worker.order.memory is None:
                continue
            message = over_limit(worker.running.shim.pid, worker.order.memory, children)
            if message is not None:
                log.warning("%s is killed: %s", worker.order.id, message)
                worker.stop(ExitReason.OUT_OF_MEMORY, message, grace=0.0)
        self._memory_at = time.monotonic() + _MEMORY_EVERY if limited else math.inf
