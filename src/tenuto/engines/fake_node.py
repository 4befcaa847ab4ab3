"""One node of the fake engine: what a supervisor does, without processes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from heapq import heappop, heappush
from itertools import count
from math import inf
from typing import TypeAlias

from tenuto.engines.base import NodeSeen
from tenuto.model.node import Slot
from tenuto.wire.worker import ExitReason, WorkerId, WorkerOrder, WorkerSeen, WorkerState

Lifetime: TypeAlias = Callable[[WorkerOrder], float | None]
"""How many seconds a worker will run before it exits 0; None for "until it is told"."""

DRAINED = 143
"""The exit code of a worker that ended because of SIGTERM."""
_PORTS = tuple(range(29500, 29564))
_PEERS = 29400
_LIVING = frozenset({WorkerState.RUNNING, WorkerState.STOPPING})


@dataclass
class FakeWorld:
    """What all nodes of one fake engine share: the time, what will happen, and how slow things are."""

    clock: Callable[[], float]
    lifetime: Lifetime | None = None
    started: list[WorkerId] = field(default_factory=list)
    where: dict[str, dict[WorkerId, FakeNode]] = field(default_factory=dict)
    """The node of every worker, by job."""
    held_jobs: set[str] = field(default_factory=set)
    all_held: bool = False
    stopping_takes: float = 0.0
    goes_on: Callable[[WorkerId], bool] = lambda _: False
    """Whether a worker that is not wanted trains on until those that follow it are ready."""
    not_listened: float = 0.0
    """Seconds for which the server could hear no node."""
    _agenda: list[tuple[float, int, FakeNode, WorkerId, int]] = field(default_factory=list)
    _ticket: count[int] = field(default_factory=count)

    def listened(self) -> float:
        """The listening clock."""
        return self.clock() - self.not_listened

    def may_start(self, worker: WorkerId) -> bool:
        """Whether nothing but its slot holds the worker back."""
        return not self.all_held and worker.job not in self.held_jobs

    def will_end(self, node: FakeNode, worker: WorkerId, due: float, code: int) -> None:
        """Put the worker's end on the agenda; `inf` for never."""
        if due != inf:
            heappush(self._agenda, (due, next(self._ticket), node, worker, code))

    def next_due(self) -> float | None:
        """When the next worker ends, as far as is known."""
        while self._agenda and not self._agenda[0][2].lives(self._agenda[0][3]):
            heappop(self._agenda)
        return self._agenda[0][0] if self._agenda else None

    def pass_time(self) -> None:
        """Let everything happen that is due."""
        now = self.clock()
        while (due := self.next_due()) is not None and due <= now:
            _, _, node, worker, code = heappop(self._agenda)
            node.exited(worker, code, ExitReason.ENDED, at=due)


class FakeNode:
    """A node and its workers. What is `shown` is what the server has heard of them."""

    def __init__(self, name: str, slots: tuple[Slot, ...], address: str, world: FakeWorld) -> None:
        self.name = name
        self.wanted: dict[WorkerId, WorkerOrder] = {}
        self.workers: dict[WorkerId, WorkerSeen] = {}
        self.shown = self.workers
        self.silent = False
        self.heard_at: float | None = world.clock()
        """While it is silent: when it was last heard; None if it has not been since the server started."""
        self.listened_at = world.listened()
        self._slots = slots
        self._address = address
        self._world = world
        self._holders: dict[int, dict[WorkerId, WorkerOrder]] = {}
        """Who is on each slot, if anybody is."""
        self.memory: tuple[float | None, ...] = ()
        """The part of each slot's memory that is in use."""
        self.last_words: dict[WorkerId, WorkerSeen] = {}
        """How workers ended by themselves that were not wanted any more, until the next orders come."""

    def seen(self, now: float) -> NodeSeen:
        """The node as the server knows it."""
        is_heard = not self.silent or self.heard_at is None
        return NodeSeen(
            name=self.name,
            slots=self._slots,
            address=self._address,
            heard_at=now if is_heard or self.heard_at is None else self.heard_at,
            listened_at=self._world.listened() if is_heard else self.listened_at,
            ports=_PORTS,
            peer=f"{self._address}:{_PEERS}",
            memory=self.memory,
        )

    def obey(self, orders: dict[WorkerId, WorkerOrder]) -> None:
        """Converge to these workers."""
        self.wanted = orders
        for order in orders.values():
            if order.id not in self.workers:
                self.put(WorkerSeen(id=order.id, node=self.name, state=WorkerState.WAITING, slot=order.slot))
        self.stop_unwanted()
        self.start_what_can()

    def stop_unwanted(self) -> None:
        """Stop whoever is not wanted and is not needed until others have come."""
        for worker in [one for one in self.workers if one not in self.wanted]:
            if not self._world.goes_on(worker):
                self._stop(worker)

    def start_what_can(self) -> None:
        """Start every waiting worker whose slot is free or shared, in the order in which they are wanted."""
        for order in self.wanted.values():
            if self.workers[order.id].state is not WorkerState.WAITING:
                continue
            if self._has_room(order) and self._world.may_start(order.id):
                self._start(order)

    def _has_room(self, order: WorkerOrder) -> bool:
        """Whether nobody is on the slot, or all who are there share it and stay."""
        there = () if order.slot is None else self._holders.get(order.slot, {}).values()
        return all(order.shares and one.shares and one.id in self.wanted for one in there)

    def exited(
        self, worker: WorkerId, code: int | None, reason: ExitReason, *, at: float | None = None
    ) -> None:
        """The worker is gone; shown while it is wanted, and its slot goes to the next one."""
        seen = self.workers[worker]
        if seen.state not in _LIVING:
            raise ValueError(f"{worker} does not run: it is {seen.state}")
        if seen.state is WorkerState.STOPPING and reason is ExitReason.ENDED:
            reason = ExitReason.STOPPED
        if seen.slot is not None:
            del self._holders[seen.slot][worker]
        ended_at = self._world.clock() if at is None else at
        gone = replace(seen, state=WorkerState.EXITED, exit_code=code, reason=reason, ended_at=ended_at)
        if worker in self.wanted:
            self.put(gone)
        else:
            self._forget(worker)
            if reason is ExitReason.ENDED:
                self.last_words[worker] = gone
        self.start_what_can()

    def lives(self, worker: WorkerId) -> bool:
        """Whether the worker runs or is stopping."""
        return worker in self.workers and self.workers[worker].state in _LIVING

    def living(self) -> Iterable[WorkerId]:
        """All workers that run or are stopping."""
        return [worker for worker in self.workers if self.lives(worker)]

    def put(self, seen: WorkerSeen) -> None:
        """Remember what a worker is like now."""
        self.workers[seen.id] = seen
        self._world.where.setdefault(seen.id.job, {})[seen.id] = self

    def fall_silent(self) -> None:
        """The server hears no more; it keeps what it heard."""
        if not self.silent:
            self.silent = True
            self._note_time()
            self.shown = dict(self.workers)

    def be_unheard(self) -> None:
        """The server was started anew and has heard nothing at all."""
        self.fall_silent()
        self.heard_at = None
        self.shown = {}

    def speak_up(self) -> None:
        """The server hears everything again."""
        self.silent = False
        self._note_time()
        self.shown = self.workers

    def _note_time(self) -> None:
        self.heard_at, self.listened_at = self._world.clock(), self._world.listened()

    def _start(self, order: WorkerOrder) -> None:
        now = self._world.clock()
        if order.slot is not None:
            self._holders.setdefault(order.slot, {})[order.id] = order
        self._world.started.append(order.id)
        seen = self.workers[order.id]
        self.put(
            replace(
                seen,
                state=WorkerState.RUNNING,
                started_at=now,
                pid=1000 + len(self._world.started),
                stage="ready" if order.linked else "",
            )
        )
        lasts = self._world.lifetime(order) if self._world.lifetime else None
        if lasts is not None:
            self._world.will_end(self, order.id, now + lasts, 0)

    def _stop(self, worker: WorkerId) -> None:
        seen = self.workers[worker]
        if seen.state is WorkerState.RUNNING:
            self.put(replace(seen, state=WorkerState.STOPPING))
            takes = self._world.stopping_takes
            if takes:
                self._world.will_end(self, worker, self._world.clock() + takes, DRAINED)
            else:
                self.exited(worker, DRAINED, ExitReason.STOPPED)
        elif seen.state is not WorkerState.STOPPING:
            self._forget(worker)

    def _forget(self, worker: WorkerId) -> None:
        del self.workers[worker]
        of_job = self._world.where[worker.job]
        del of_job[worker]
        if not of_job:
            del self._world.where[worker.job]
