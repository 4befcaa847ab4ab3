"""The supervisor's one loop: take what comes, compare what is wanted with what is here, act, tell.

Orders, deaths and rings are taken at once; only memory limits and reports of steps are looked at by the clock.
Everything that may take long (the server, uploads) has threads of its own.
"""

from __future__ import annotations

import logging
import math
import os
import queue
import threading
import time
from dataclasses import replace

from tenuto.engines.gpu_memory import MemoryWatch, Parts
from tenuto.engines.inventory import FreePorts
from tenuto.engines.listening_clock import BEAT_SECONDS, beat_in_thread
from tenuto.engines.supervisor.answering import Answering
from tenuto.engines.supervisor.converge import converge
from tenuto.engines.supervisor.crew import Crew
from tenuto.engines.supervisor.crews import eviction
from tenuto.engines.supervisor.crews.desk import Crews
from tenuto.engines.supervisor.crews.eviction import StackTaken
from tenuto.engines.supervisor.crews.keys import PeerKeys
from tenuto.engines.supervisor.crews.notes import CrewNotes
from tenuto.engines.supervisor.crews.post import Post
from tenuto.engines.supervisor.crews.reception import Reception
from tenuto.engines.supervisor.crews.words import Word
from tenuto.engines.supervisor.link import Link, Message, NotWelcome, Received
from tenuto.engines.supervisor.records import Records
from tenuto.engines.supervisor.sampling.sampling import Sampling
from tenuto.engines.supervisor.server import Server
from tenuto.engines.supervisor.upload import Uploads
from tenuto.engines.supervisor.warm.pool import WarmPool, WarmSettings
from tenuto.engines.supervisor.worker import Worker
from tenuto.engines.supervisor.worker_environment import worker_variables
from tenuto.errors import Conflict, TenutoError
from tenuto.wire import env
from tenuto.wire.node import Hello, Orders, Question, Welcome
from tenuto.wire.status import Stage
from tenuto.wire.worker import ExitReason, WorkerId, WorkerOrder, WorkerSeen, WorkerState

log = logging.getLogger(__name__)
_FAREWELL = 10.0
"""Seconds without the server after which a supervisor that was told to leave goes without having told everything."""


class Supervisor:
    """Owns the workers of one node."""

    def __init__(
        self,
        records: Records,
        server: Server,
        hello: Hello,
        warm: WarmSettings | None = None,
        memory: MemoryWatch | None = None,
    ) -> None:
        self._records = records
        self._server = server
        self._node = hello.node
        self._inbox: queue.SimpleQueue[Message | Word | StackTaken] = queue.SimpleQueue()
        self._bell = os.open(records.bell, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        self._keys = PeerKeys()
        self._reception = Reception(hello.address, self._keys, self._deliver)
        hello = replace(hello, peer=self._reception.address)
        self._post = Post(self._keys)
        self._crews = Crews(CrewNotes(records.crews), hello, self._post, self._ask_for_stack, self._keys)
        self._link = Link(server, hello, self._deliver)
        self._answering = Answering(server, hello, records.directory)
        self._uploads = Uploads(server, hello, self.wake)
        self._pool = WarmPool(worker_variables(os.environ, records.state.inherit), warm)
        self._crew = Crew(records, self._uploads, self._bell, self._pool)
        self._ports = FreePorts()
        self._sampling = Sampling(server, hello)
        self._memory = memory or MemoryWatch(hello.slots, self._sampling.memory_parts)
        self._wanted: dict[WorkerId, WorkerOrder] | None = None
        """None until a controller has spoken to us: till then nothing is started and nothing stopped."""
        self._not_obeyed: Orders | None = None
        """Orders that could not be written down yet."""
        self._waiting: tuple[WorkerOrder, ...] = ()
        self._ended = self._leaving = self._welcomed = False
        self._left = False
        self._refusal: TenutoError | None = None
        self._problem = ""
        """Why no worker can be started here; the supervisor ends as soon as the server knows and no worker runs."""
        self._complaint = ""
        """What the server said last instead of welcoming us."""
        self._told: tuple[tuple[WorkerSeen, ...], Parts, str] | None = None
        self._published = self._received = 0
        self._tell_at = 0.0

    def run(self) -> bool:
        """Work until told to end: False, and workers go on; or told to leave: True, and nothing is here any more."""
        beats = threading.Thread(
            target=beat_in_thread, args=(self._server.clock, self._link.ended), name="beats", daemon=True
        )
        beats.start()
        self._link.start()
        self._memory.start(self.wake)
        try:
            while not self._ended:
                self._crew.wait(min(self._tell_at, self._silence_at(), self._crews.look_at))
                self._read_messages()
                self._mind_silence()
                self._mind_crews()
                self._converge()
                self._tell()
                self._left = self._may_leave()
                self._ended = self._ended or self._left
        finally:
            self._memory.end()
            self._reception.close()
            self._post.close()
            self._link.end()
            self._uploads.end()
            self._pool.close()
            self._sampling.end()
        if self._refusal is not None:
            raise self._refusal
        return self._left

    def end(self) -> None:
        """End soon; from a signal handler or another thread."""
        self._ended = True
        self.wake()

    def wake(self) -> None:
        """Have the loop look around; from any thread."""
        try:
            os.write(self._bell, b"\n")
        except BlockingIOError:
            return  # it rings already

    def _deliver(self, message: Message | Word | StackTaken) -> None:
        self._inbox.put(message)
        self.wake()

    # what comes

    def _read_messages(self) -> None:
        if self._not_obeyed is not None:
            self._obey(self._not_obeyed)
        while not self._inbox.empty():
            message = self._inbox.get()
            if isinstance(message, Orders):
                self._obey(message)
            elif isinstance(message, Question):
                self._answering.ask(message)
            elif isinstance(message, Received):
                self._received = max(self._received, message.report)
            elif isinstance(message, Welcome):
                self._settle_in(message)
            elif isinstance(message, Word):
                self._crews.hear(message, time.monotonic())
            elif isinstance(message, StackTaken):
                self._kill_hung(message)
            else:
                self._not_welcome(message)

    def _settle_in(self, welcome: Welcome) -> None:
        if not self._welcomed:
            self._uploads.start()
        self._welcomed, self._complaint = True, ""
        self._sampling.heed(welcome)
        try:
            self._records.remember(
                heartbeat=welcome.heartbeat,
                dead_man=welcome.dead_man,
                spool_bytes=welcome.spool_bytes,
                inherit=welcome.inherit,
            )
        except OSError as error:
            log.warning("the server's settings cannot be kept: %s", error)
        self._pool.use_variables(worker_variables(os.environ, self._records.state.inherit))

    def _obey(self, orders: Orders) -> None:
        """Take over what is wanted; remembered on disk first, so that no older order is obeyed after a restart."""
        state = self._records.state
        if orders.term == 0 or self._problem:
            return
        if (orders.term, orders.version) < (state.term, state.version):
            log.warning(
                "orders of term %d, version %d are refused: those of term %d, version %d were obeyed already",
                *(orders.term, orders.version, state.term, state.version),
            )
            return
        try:
            self._records.remember(term=orders.term, version=orders.version)
        except OSError as error:
            log.warning("orders cannot be obeyed, because that cannot be written down: %s", error)
            self._not_obeyed = orders
            return
        self._not_obeyed = None
        self._wanted = {order.id: order for order in orders.workers if order.node == self._node}
        self._crews.obey(orders.crews, time.monotonic())
        self._leaving = orders.leave
        self._tell_at = 0.0  # ports that were given to workers must not be offered again

    def _not_welcome(self, message: NotWelcome) -> None:
        """Go if we are of no use here; but workers that run are not stopped because a token was exchanged."""
        if message.for_good:
            self._refusal, self._leaving, self._wanted = message.why, True, {}
        elif not self._welcomed and self._crew.all_gone:
            self._refusal, self._ended = message.why, True
        elif str(message.why) != self._complaint:
            self._complaint = str(message.why)
            log.warning("the server refuses: %s", message.why)

    # what is done

    def _converge(self) -> None:
        if self._wanted is None or self._problem:
            return
        now = time.monotonic()
        held = self._crew.held(self._received, lambda id: self._crews.keeps(id, now))  # noqa: A006
        steps = converge(self._wanted, held)
        for id in steps.stop:  # noqa: A001
            self._crew.stop(id, quiet=self._crews.was_told_to_go(id))
        for id in steps.forget:  # noqa: A001
            self._crew.forget(id)
        not_now = steps.start if self._silent() else [o for o in steps.start if not self._crew.start(o)]
        self._waiting = (*not_now, *steps.wait)

    def _mind_crews(self) -> None:
        """See where the workers stand that rescale in place, and tell them who trains together."""
        now = time.monotonic()
        if now >= self._crews.look_at:
            self._crew.look_at_stages()
            self._crews.looked_at = now
        self._crews.advance(self._crew, self._waiting, now)

    def _ask_for_stack(self, worker: Worker, seconds: float) -> None:
        eviction.ask(worker, seconds, self._deliver)

    def _kill_hung(self, taken: StackTaken) -> None:
        if (worker := self._crew.get(taken.worker)) is not None:
            eviction.kill_hung(worker, taken, self._node)

    def _silence_at(self) -> float:
        """When the server will have been away for too long; never if that is so already."""
        dead_man = self._records.state.dead_man
        if dead_man is None or self._silent():
            return math.inf
        return time.monotonic() + max(dead_man - self._server.silence, BEAT_SECONDS)

    def _silent(self) -> bool:
        dead_man = self._records.state.dead_man
        return dead_man is not None and self._server.silence >= dead_man

    def _mind_silence(self) -> None:
        if self._silent():
            message = f"the server was away for more than {self._records.state.dead_man:g} s"
            self._crew.stop_all(ExitReason.DEAD_MAN, message)

    def _mind_directory(self) -> None:
        """Stop working if the records are gone: nothing that is done now could be known to the next supervisor."""
        if self._problem:
            self._crew.kill_unknown()
        if self._problem or not self._records.is_lost():
            return
        self._problem = f"the directory of its supervisor, {self._records.directory}, was deleted or replaced"
        log.error("%s; all workers are stopped, then the supervisor ends", self._problem)
        self._refusal = Conflict(
            self._problem,
            code="directory_lost",
            remedy="Let no job write there. Start the supervisor again; tenuto up does so by itself",
        )
        self._waiting = ()
        self._crew.stop_all(ExitReason.STOPPED, self._problem)

    def _everything_is_told(self) -> bool:
        """Whether the server knows the problem, and how every worker ended."""
        ends = [worker.shown for worker in self._crew]
        return all(0 < number <= self._received for number in ends) and self._received >= self._published

    def _may_leave(self) -> bool:
        if self._problem and self._crew.all_gone:
            self._ended = self._ended or self._everything_is_told() or self._server.silence >= _FAREWELL
            return False
        if not self._leaving or not self._crew.all_gone:
            return False
        everything_told = not any(self._crew) and self._received >= self._published
        gave_up = self._server.silence >= _FAREWELL
        return everything_told or gave_up or self._refusal is not None

    # what is told

    def _tell(self) -> None:
        """Publish what has changed, or that nothing has for as long as a heartbeat."""
        now = time.monotonic()
        due = now >= self._tell_at
        if due:
            self._mind_directory()
            self._crew.look_around()
        seen, memory = self._seen(), self._memory.parts
        outline = (tuple(_outline(worker) for worker in seen), memory, self._problem)
        if not due and outline == self._told:
            return
        self._told = outline
        self._published = self._link.publish(
            seen, self._ports.offer(self._used_ports()), memory, self._problem
        )
        self._tell_at = now + self._records.state.heartbeat
        for worker in self._crew:
            if worker.end is not None and not worker.shown:
                worker.shown = self._published

    def _seen(self) -> tuple[WorkerSeen, ...]:
        here = [worker.seen(self._node) for worker in self._crew]
        waiting = [
            WorkerSeen(id=order.id, node=self._node, state=WorkerState.WAITING, slot=order.slot)
            for order in self._waiting
        ]
        return tuple(sorted([*here, *waiting], key=lambda worker: worker.id))

    def _used_ports(self) -> set[int]:
        orders = [*(self._wanted or {}).values(), *(worker.order for worker in self._crew)]
        ports = {order.env.get(env.MASTER_PORT, "") for order in orders}
        return {int(port) for port in ports if port.isascii() and port.isdigit()}


def _outline(worker: WorkerSeen) -> WorkerSeen:
    """What is told at once: not every step, nor that a worker waits for others within one."""
    trains = worker.stage == Stage.MEETING.name.lower()
    return replace(worker, step=None, data={}, stage=Stage.TRAINING.name.lower() if trains else worker.stage)
