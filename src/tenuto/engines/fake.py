"""An engine whose nodes and workers exist in memory only, under whatever clock it is given.

It obeys the same contract as the real ones (`engines.base`), so the controller, its properties and load tests run
on it without a process. Everything that can happen to a worker or a node is a verb here: exit, vanish, report,
silence, slow starts and stops. Time passes only by the clock; what it brings is seen at the next call.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from threading import RLock

from tenuto.engines.base import Observation, TermRefused
from tenuto.engines.fake_crew import FakeCrews
from tenuto.engines.fake_node import DRAINED, FakeNode, FakeWorld, Lifetime
from tenuto.engines.orders import by_node
from tenuto.engines.rings import Rings
from tenuto.model.node import Slot
from tenuto.wire.worker import CrewOrder, ExitReason, WorkerId, WorkerOrder, WorkerSeen, WorkerState


class FakeEngine:
    """Workers that are only remembered. Thread-safe, so that a test may act while a controller runs."""

    def __init__(
        self, clock: Callable[[], float], *, lifetime: Lifetime | None = None, silence: float = 15.0
    ) -> None:
        self._world = FakeWorld(clock, lifetime)
        self._crews = FakeCrews(self._world)
        self._silence = silence
        self._term = 0
        self._wanted: dict[str, dict[WorkerId, WorkerOrder]] = {}
        self._together: tuple[CrewOrder, ...] = ()
        self._nodes: dict[str, FakeNode] = {}
        self._leaving: dict[str, FakeNode] = {}
        self._lock = RLock()
        self._rings = Rings()

    # the port

    def observe(self) -> Observation:
        """The whole picture."""
        with self._lock:
            self._pass_time()
            now = self._world.clock()
            workers: dict[WorkerId, WorkerSeen] = {}
            for node in self._everywhere():
                workers |= node.shown if node.silent else {**node.last_words, **node.shown}
            nodes = {name: node.seen(now) for name, node in self._nodes.items() if node.heard_at is not None}
            return Observation(nodes, workers, self._world.listened())

    def want(self, term: int, orders: Sequence[WorkerOrder], crews: Sequence[CrewOrder] = ()) -> None:
        """Make these, and only these, the workers that shall be there."""
        with self._lock:
            if term < self._term:
                raise TermRefused(f"term {term} is over; term {self._term} has begun")
            self._term = term
            self._pass_time()
            self._wanted, self._together = by_node(orders), tuple(crews)
            for node in self._nodes.values():
                node.last_words.clear()
            self._hear()
            changed = [self._obey(node) for node in self._nodes.values()]
            regrouped = self._regroup()
        if any(changed) or regrouped:
            self._rings.ring()

    def forget_node(self, name: str) -> None:
        """Let the node's workers end, and then the node."""
        with self._lock:
            node = self._nodes.pop(name, None)
            if node is None:
                return
            self._leaving[name] = node
            if not node.silent:
                node.obey({})
            self._let_go()
        self._rings.ring()

    def listen(self, ring: Callable[[], None]) -> Callable[[], None]:
        """Call `ring()` when something has changed."""
        return self._rings.add(ring)

    def close(self) -> None:
        """Call nobody any more."""
        self._rings.clear()

    # what can happen to nodes

    def add_node(self, name: str, slots: int | Sequence[Slot] = 1, *, address: str = "127.0.0.1") -> None:
        """A node joins, with so many CPU slots or with these."""
        each = (Slot(),) * slots if isinstance(slots, int) else tuple(slots)
        with self._lock:
            if name in self._nodes:
                raise ValueError(f"there is a node {name} already")
            node = FakeNode(name, each, address, self._world)
            self._nodes[name] = node
            self._obey(node)
            self._regroup()
        self._rings.ring()

    def lose_node(self, name: str, *, with_workers: bool = False) -> None:
        """Nothing is heard of the node from now on; its workers go on unseen, or vanish too."""
        with self._lock:
            node = self._nodes[name]
            node.fall_silent()
            if with_workers:
                for worker in node.living():
                    node.exited(worker, None, ExitReason.VANISHED)
                self._regroup()

    def return_node(self, name: str) -> None:
        """The node is heard again: it tells what happened meanwhile and gets its orders."""
        with self._lock:
            node = self._nodes[name]
            node.speak_up()
            self._obey(node)
            self._regroup()
        self._rings.ring()

    def reopen(self) -> None:
        """As if the server had been started anew: it has heard of no node yet; `return_node` is the first sign."""
        with self._lock:
            for node in self._nodes.values():
                node.be_unheard()

    def stall(self, seconds: float) -> None:
        """The server heard no node in the last so many seconds, through no fault of the nodes."""
        with self._lock:
            self._world.not_listened += seconds

    def use_memory(self, name: str, *parts: float | None) -> None:
        """So much of the memory of each slot of the node is in use from now on."""
        with self._lock:
            self._nodes[name].memory = parts
        self._rings.ring()

    # what can happen to workers

    def exit_worker(self, worker: WorkerId, code: int = 0) -> None:
        """The worker ends by itself."""
        self._end([worker], code, ExitReason.ENDED)

    def vanish(self, worker: WorkerId) -> None:
        """The worker is gone, and nobody saw how."""
        self._end([worker], None, ExitReason.VANISHED)

    def kill_worker(self, worker: WorkerId, signal: int = 9) -> None:
        """The worker is killed by a signal from outside."""
        self._end([worker], 128 + signal, ExitReason.ENDED)

    def run_out_of_memory(self, worker: WorkerId) -> None:
        """The worker is killed for using more than its limit."""
        self._end([worker], 137, ExitReason.OUT_OF_MEMORY)

    def end_job(self, job: str, code: int = 0) -> None:
        """All running workers of the job, of whatever role, end by themselves."""
        self._end(self.living(job), code, ExitReason.ENDED)

    def report(self, worker: WorkerId, step: float, **data: float) -> None:
        """The worker tells how far it is."""
        with self._lock:
            node = self._world.where[worker.job][worker]
            node.put(replace(node.workers[worker], step=step, data=data))

    def living(self, job: str = "") -> list[WorkerId]:
        """All workers, of this job or of all, that run or are stopping, seen or not."""
        with self._lock:
            if job:
                found = self._world.where.get(job, {})
                return [worker for worker, node in found.items() if node.lives(worker)]
            return [worker for node in self._everywhere() for worker in node.living()]

    @property
    def started(self) -> Sequence[WorkerId]:
        """Every start there was, in order."""
        return self._world.started

    # how slow things are

    def hold_starts(self, job: str = "") -> None:
        """Workers, of this job or of all, wait until `release_starts`."""
        with self._lock:
            if job:
                self._world.held_jobs.add(job)
            else:
                self._world.all_held = True

    def release_starts(self) -> None:
        """What waits only for this is started now."""
        with self._lock:
            self._world.all_held = False
            self._world.held_jobs.clear()
            for node in self._nodes.values():
                node.start_what_can()
            self._regroup()
        self._rings.ring()

    def slow_forming(self, seconds: float) -> None:
        """From now on a group that rescales in place needs so long to form; `inf` for "until `finish_forming`"."""
        with self._lock:
            self._crews.forming_takes = seconds

    def finish_forming(self) -> None:
        """All groups have formed now."""
        with self._lock:
            self._crews.finish_forming()
            self._regroup()
        self._rings.ring()

    def slow_stopping(self, seconds: float) -> None:
        """From now on a worker that is told to stop takes so long; `inf` for "until `finish_stopping`"."""
        with self._lock:
            self._world.stopping_takes = seconds

    def finish_stopping(self, job: str = "") -> None:
        """Every worker, of this job or of all, that was told to stop has ended now."""
        with self._lock:
            seen = {
                worker: self._world.where[worker.job][worker].workers[worker] for worker in self.living(job)
            }
            told = [worker for worker, now in seen.items() if now.state is WorkerState.STOPPING]
        self._end(told, DRAINED, ExitReason.STOPPED)

    def next_due(self) -> float | None:
        """When the next worker will have ended or formed its group: where a virtual clock may jump to."""
        with self._lock:
            moments = (self._world.next_due(), self._crews.next_due())
            return min((moment for moment in moments if moment is not None), default=None)

    # inside

    def _obey(self, node: FakeNode) -> bool:
        """Let the node have its orders, if it hears them; tells whether it had to do anything."""
        orders = self._wanted.get(node.name, {})
        if node.silent or orders.keys() == node.wanted.keys():
            return False
        node.obey(orders)
        return True

    def _regroup(self) -> bool:
        """Let the leading nodes do what follows from their orders and from what has happened."""
        self._hear()
        changed = self._crews.settle()
        for node in self._everywhere():
            if not node.silent:
                node.stop_unwanted()
        return self._crews.settle() or changed

    def _hear(self) -> None:
        """Let the leading nodes hear their orders, if they can."""
        hearing = {name for name, node in self._nodes.items() if not node.silent}
        self._crews.obey(self._together, hearing.__contains__)

    def _end(self, workers: Iterable[WorkerId], code: int | None, reason: ExitReason) -> None:
        with self._lock:
            for worker in workers:
                self._world.where[worker.job][worker].exited(worker, code, reason)
            self._regroup()
            self._let_go()
        self._rings.ring()

    def _pass_time(self) -> None:
        self._world.pass_time()
        self._regroup()
        self._let_go()

    def _let_go(self) -> None:
        """Forget the nodes that were removed, once nothing of them is left or they have been silent too long."""
        listened = self._world.listened()
        for name, node in list(self._leaving.items()):
            given_up = node.silent and listened - node.listened_at >= self._silence
            if given_up or not node.shown:
                del self._leaving[name]

    def _everywhere(self) -> tuple[FakeNode, ...]:
        return (*self._nodes.values(), *self._leaving.values())
