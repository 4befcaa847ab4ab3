"""All crews that have to do with this node: does what the coordinator decides, and keeps the other nodes informed.

Called from the supervisor's one loop; nothing here waits. Sending has threads of its own (`post`), so has taking the
stack of a worker that hangs (`stacks`).
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from tenuto.engines.supervisor.crews.job import CrewJob
from tenuto.engines.supervisor.crews.keys import PeerKeys
from tenuto.engines.supervisor.crews.notes import CrewNotes, Note
from tenuto.engines.supervisor.crews.seats import Seat
from tenuto.engines.supervisor.crews.watch import STUCK
from tenuto.engines.supervisor.crews.words import Word, for_others
from tenuto.engines.supervisor.isolation import Failures
from tenuto.engines.supervisor.worker import Worker
from tenuto.wire import membership as memberships
from tenuto.wire.membership import Membership
from tenuto.wire.node import Hello
from tenuto.wire.status import Stage
from tenuto.wire.worker import CrewOrder, WorkerId, WorkerOrder

log = logging.getLogger(__name__)
_CALM = 1.0
"""Seconds between two looks at workers that train."""
_HASTE = 0.1
"""Seconds between two looks while a generation is about to begin; rings come sooner."""
_SPEAK = 2.0
"""Seconds after which a node that follows says again what it has said."""


class Sender(Protocol):
    """Brings words to other nodes."""

    def send(self, node: str, address: str, word: Word) -> None:
        """As soon as possible, instead of an older one about the same job."""
        ...


class Crews:
    """The jobs of this node that rescale in place."""

    def __init__(
        self,
        notes: CrewNotes,
        hello: Hello,
        sender: Sender,
        evict: Callable[[Worker, float], None],
        keys: PeerKeys | None = None,
    ) -> None:
        self._notes = notes
        self._me = hello
        self._sender = sender
        self._evict = evict
        self._keys = keys or PeerKeys()
        self._jobs: dict[str, CrewJob] = {}
        self._restored: list[Note] = notes.all()
        self._keys.replace(note.order for note in self._restored)
        self._evicted: set[str] = set()
        self._said: dict[str, object] = {}
        """The outline of what was said last about a job."""
        self._own: dict[str, dict[str, Seat]] = {}
        self._failures: dict[str, Failures] = {}
        self._number = 0
        self._speak_at = 0.0
        self.look_at = math.inf
        """When to look at the workers again even if nobody rings."""
        self.looked_at = 0.0
        """When all of them were looked at."""

    def obey(self, orders: Sequence[CrewOrder], now: float) -> None:
        """Take over what is wanted; jobs that are not named any more are over here."""
        self._restore(now)
        for order in orders:
            job = self._jobs.setdefault(order.job, CrewJob(order, now, self._me.node))
            job.obey(order, now)
            self._notes.write(job.note)
            self._said.pop(order.job, None)  # whoever leads now may not have heard it
        for gone in self._jobs.keys() - {order.job for order in orders}:
            del self._jobs[gone]
            self._said.pop(gone, None)
            self._failures.pop(gone, None)
            self._notes.forget(gone)
        self._keys.replace(orders)

    def hear(self, word: Word, now: float) -> None:
        """Another node has spoken."""
        self._restore(now)
        job = self._jobs.get(word.job)
        if job is not None and word.node not in job.others:
            return  # a node that has nothing to do with the job
        if job is None or word.node == self._me.node:
            return  # it is over here; or our orders have yet to come, and then we are told again
        if job.hear(word, now):
            self._said.pop(word.job, None)
        job.learn(word.memberships, now)
        self._evicted |= set(word.evict) if word.node == job.order.lead else set()

    def advance(self, here: Iterable[Worker], waiting: Sequence[WorkerOrder], now: float) -> None:
        """Do what is to be done now: memberships, evictions, words."""
        self._restore(now)
        if not self._jobs:
            self.look_at = math.inf
            return
        workers = {str(worker.order.id): worker for worker in here if worker.order.linked}
        self._own = {
            job: crew.with_ended(self._seats(crew, workers, waiting)) for job, crew in self._jobs.items()
        }
        self.look_at = math.inf
        for job in self._jobs.values():
            self._advance_alone(job, workers, now)
        if now >= self._speak_at:
            self._speak_at = now + _SPEAK
        if not all(job.leads for job in self._jobs.values()):
            self.look_at = min(self.look_at, self._speak_at)

    def keeps(self, worker: WorkerId, now: float) -> bool:
        """Whether a worker that is not wanted must not be told to end yet."""
        job = self._jobs.get(worker.job)
        return job is not None and job.keeps(str(worker), now)

    def was_told_to_go(self, worker: WorkerId) -> bool:
        """Whether a worker that has trained with others knows that it is to leave, and will do so with them."""
        job = self._jobs.get(worker.job)
        seat = self._own.get(worker.job, {}).get(str(worker))
        if job is None or job.last is None or seat is None:
            return False
        return seat.generation > 0 and str(worker) not in job.last.workers

    def _restore(self, now: float) -> None:
        """Go on from what an earlier supervisor wrote down, before anything else is done."""
        for note in self._restored:
            self._jobs[note.order.job] = CrewJob.of(note, self._me.node, now)
        self._restored = []

    def _advance_alone(self, job: CrewJob, workers: Mapping[str, Worker], now: float) -> None:
        """Whatever goes wrong with one job, the others go on."""
        failures = self._failures.setdefault(job.order.job, Failures(f"job {job.order.job}"))
        if not failures.is_due(now):
            self.look_at = min(self.look_at, failures.not_before)
            return
        try:
            self._advance(job, workers, now)
        except Exception as error:
            log.exception("this is a fault of tenuto; other jobs go on")
            failures.failed(f"its generations cannot be decided: {error}")
            self.look_at = min(self.look_at, failures.not_before)
        else:
            failures.succeeded()

    def _advance(self, job: CrewJob, workers: Mapping[str, Worker], now: float) -> None:
        own, before = self._own[job.order.job], job.last
        decision = job.decide(own, now)
        if decision.membership is not None:
            decision = job.decide(own, now)  # one may follow another at once; a third waits for its turn
        if job.last != before:
            self._notes.write(job.note)
        elsewhere = set(decision.evict) - workers.keys()
        self._evicted |= set(decision.evict) - elsewhere
        for worker in self._evicted & workers.keys():
            self._evict_once(workers[worker], now)
        if job.last is not None:
            _tell_workers(job.last, [w for w in workers.values() if w.order.id.job == job.order.job])
        self._speak(job, own, tuple(sorted(elsewhere)), now)
        pause = _CALM if job.settled(own) else _HASTE
        self.look_at = min(self.look_at, decision.look_again_at, self.looked_at + pause)

    def _evict_once(self, worker: Worker, now: float) -> None:
        self._evicted.discard(str(worker.order.id))
        if worker.end is None and not worker.evicted and worker.watch is not None:
            worker.evicted = True
            status = worker.watch.status
            self._evict(worker, 0.0 if status is None else now - status.since)

    def _seats(
        self, job: CrewJob, workers: Mapping[str, Worker], waiting: Sequence[WorkerOrder]
    ) -> dict[str, Seat]:
        host = job.order.hosts.get(self._me.node) or self._me.address
        empty = Seat(node=self._me.node, host=host)
        seats = {str(o.id): replace(empty, blocked=True) for o in waiting if o.id.job == job.order.job}
        here = {name: w for name, w in workers.items() if w.order.id.job == job.order.job}
        return seats | {name: worker.seat(empty) for name, worker in here.items()}

    def _speak(self, job: CrewJob, own: Mapping[str, Seat], evict: tuple[str, ...], now: float) -> None:
        """Tell the others if there is something new; and the lead, for whom silence means something, every while."""
        outline = ({name: _outline(seat, now) for name, seat in own.items()}, job.last, evict)
        if outline == self._said.get(job.order.job) and (job.leads or now < self._speak_at):
            return
        self._said[job.order.job] = outline
        self._number += 1
        word = Word(
            job=job.order.job,
            node=self._me.node,
            session=self._me.session,
            number=self._number,
            address=self._me.peer,
            seats=for_others(own, now),
            memberships=job.note.memberships,
            evict=evict,
        )
        for node in sorted(job.others if job.leads else {job.order.lead} & job.others):
            if address := job.addresses.get(node):
                self._sender.send(node, address, word)


def _tell_workers(newest: Membership, workers: Iterable[Worker]) -> None:
    """Show the newest membership to those who have not seen it."""
    for worker in workers:
        if worker.end is not None or worker.told >= newest.generation:
            continue
        if not worker.told and str(worker.order.id) not in newest.workers:
            continue  # it has yet to join its first
        try:
            memberships.write(worker.files.link, newest)
        except OSError as error:
            log.warning("%s cannot be told of generation %d: %s", worker.order.id, newest.generation, error)
        else:
            worker.told = newest.generation


def _outline(seat: Seat, now: float) -> object:
    """What others must know at once: not every step, but where it stands if it stays there."""
    stands = seat.stage
    if stands in (Stage.TRAINING, Stage.MEETING) and now - seat.since < STUCK:
        stands = Stage.TRAINING
    port = 0 if seat.status is None else seat.status.port
    return (seat.alive, seat.blocked, seat.exit_code, stands, seat.generation, port, seat.activity)
