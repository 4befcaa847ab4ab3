"""One job that rescales in place, as one of its supervisors sees it: its own workers, and what the others said."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from tenuto.engines.supervisor.crews.coordinator import Decision, coordinate
from tenuto.engines.supervisor.crews.notes import Note
from tenuto.engines.supervisor.crews.seats import Published, Seat, Situation, prune, published
from tenuto.engines.supervisor.crews.words import Word, as_heard
from tenuto.wire.membership import Member, Membership
from tenuto.wire.status import Stage
from tenuto.wire.worker import CrewOrder

SILENT = 6.0
"""Seconds without a word from a node after which it may be gone; each speaks every two."""
_LEARNING = 5.0
"""Seconds for which one that has just begun to lead waits to hear of the newest membership."""
PARTING = 60.0
"""Seconds for which a worker that is to leave waits for a membership without it, before it is simply stopped."""


@dataclass(slots=True)
class _Heard:
    word: Word
    seats: dict[str, Seat]
    at: float


@dataclass(slots=True)
class CrewJob:
    """All that is known of the job here."""

    order: CrewOrder
    ordered_at: float
    node: str
    """Which this is."""
    history: tuple[Published, ...] = ()
    addresses: dict[str, str] = field(default_factory=dict)
    """Where the supervisors of the job's other nodes listen."""
    _heard: dict[str, _Heard] = field(default_factory=dict)
    _ended: dict[str, Seat] = field(default_factory=dict)
    """How our own workers ended that somebody may still wait for, even if they are forgotten here otherwise."""
    _led_since: float = math.inf

    @classmethod
    def of(cls, note: Note, node: str, now: float) -> CrewJob:
        """A job as it was written down."""
        job = cls(note.order, now, node)
        job.obey(note.order, now)
        job.learn(note.memberships, now)
        return job

    @property
    def leads(self) -> bool:
        """Whether this node decides."""
        return self.order.lead == self.node

    @property
    def last(self) -> Membership | None:
        """The newest membership."""
        return self.history[-1].membership if self.history else None

    @property
    def others(self) -> set[str]:
        """The job's other nodes."""
        return (set(self.order.peers) | set(self.order.hosts)) - {self.node}

    @property
    def note(self) -> Note:
        """What is to be remembered."""
        return Note(self.order, tuple(past.membership for past in self.history))

    def obey(self, order: CrewOrder, now: float) -> None:
        """Take over another order; an address that the controller does not know stays as it was."""
        if order.members != self.order.members:
            self.ordered_at = now
        self._led_since = min(self._led_since, now) if order.lead == self.node else math.inf
        self.order = order
        told = {node: address for node, address in order.peers.items() if address and node != self.node}
        self.addresses = {node: at for node, at in self.addresses.items() if node in self.others} | told

    def hear(self, word: Word, now: float) -> bool:
        """Take over what another node says; True if it has just come to life and knows nothing of us."""
        before = self._heard.get(word.node)
        new = before is None or before.word.session != word.session
        if not new and before is not None and before.word.number >= word.number:
            return False
        self._heard[word.node] = _Heard(word, as_heard(word, now), now)
        self.addresses[word.node] = word.address
        return new

    def learn(self, memberships: tuple[Membership, ...], now: float) -> None:
        """Take over what somebody knows of memberships, if that is newer than what we know."""
        if not memberships or (self.last is not None and self.last.generation >= memberships[-1].generation):
            return
        known = {past.membership.name: past for past in self.history}
        older = self.history if self.leads else ()  # one that follows remembers what its lead does
        told = tuple(known.get(one.name, Published(one, now)) for one in memberships)
        self.history = tuple(sorted({*older, *told}, key=lambda past: past.membership.generation))

    def with_ended(self, own: Mapping[str, Seat]) -> dict[str, Seat]:
        """Our own seats, and those of workers that are gone but not past: whoever leads must know how they went."""
        members = {worker for past in self.history for worker in past.membership.workers}
        self._ended |= {worker: seat for worker, seat in own.items() if not seat.alive}
        self._ended = {worker: seat for worker, seat in self._ended.items() if worker in members}
        return {**self._ended, **own}

    def decide(self, own: Mapping[str, Seat], now: float) -> Decision:
        """What is to be done now, if it is up to us; a membership becomes the newest one."""
        if not self.leads or not self._has_learned(now):
            return Decision(look_again_at=self._led_since + _LEARNING if self.leads else math.inf)
        situation = self._situation(own, now)
        self.history = situation.history
        decision = coordinate(situation, now)
        if decision.membership is not None:
            self.history = published(situation, decision.membership, now).history
        return replace(decision, look_again_at=min(decision.look_again_at, self._silence_at(now)))

    def settled(self, own: Mapping[str, Seat]) -> bool:
        """Whether nothing is about to change here: those of our own who are wanted are in the group, and train."""
        last = self.last
        wanted = {str(member) for member in self.order.members}
        mine = {worker: seat for worker, seat in own.items() if seat.alive}
        if last is None or set(mine) - set(last.workers) or set(mine) - wanted:
            return False
        return all(seat.generation >= last.generation for seat in mine.values())

    def keeps(self, worker: str, now: float) -> bool:
        """Whether a worker that is not wanted is still needed: no membership without it was made known yet."""
        return self.last is not None and worker in self.last.workers and now < self.ordered_at + PARTING

    def _has_learned(self, now: float) -> bool:
        heard = all(node in self._heard for node in self.others)
        return bool(self.history) or heard or now >= self._led_since + _LEARNING

    def _situation(self, own: Mapping[str, Seat], now: float) -> Situation:
        seats = self._seats(own, now)
        situation = Situation(order=self.order, ordered_at=self.ordered_at, seats=seats, history=self.history)
        return prune(situation)

    def _seats(self, own: Mapping[str, Seat], now: float) -> dict[str, Seat]:
        """Everybody's seats. A member that its own node does not know is gone; so is one on a node that is gone."""
        seats = dict(own)
        for node, heard in self._heard.items():
            host = self.order.hosts.get(node, "")
            seats |= {worker: replace(seat, node=node, host=host) for worker, seat in heard.seats.items()}
        fell_apart = self._fell_apart(seats)
        for past in self.history:
            for member in past.membership.members:
                if (
                    self._is_missing(member, seats, past.at)
                    or member.node not in (self.node, *self.others)  # the controller expects nothing of it
                    or (self._silent(member.node, now) and (fell_apart or not self._wants(member)))
                ):
                    seats[member.worker] = _gone(member, seats.get(member.worker))
        return seats

    def _is_missing(self, member: Member, seats: Mapping[str, Seat], since: float) -> bool:
        """Whether its node would have told of it since the membership was known, and has not."""
        if member.worker in seats:
            return False
        heard = self._heard.get(member.node)
        return member.node == self.node or (heard is not None and heard.at > since)

    def _wants(self, member: Member) -> bool:
        return any(str(one) == member.worker for one in self.order.members)

    def _silent(self, node: str, now: float) -> bool:
        if node == self.node:
            return False
        heard = self._heard.get(node)
        return now >= (self.ordered_at if heard is None else heard.at) + SILENT

    def _silence_at(self, now: float) -> float:
        """When a node that has to do with the group would be missed."""
        last = () if self.last is None else self.last.members
        nodes = {member.node for member in last} & self.others
        times = [
            (self.ordered_at if node not in self._heard else self._heard[node].at) + SILENT for node in nodes
        ]
        return min((at for at in times if at > now), default=math.inf)

    def _fell_apart(self, seats: Mapping[str, Seat]) -> bool:
        """Whether some member waits for a newer membership than the newest."""
        if not self.history:
            return False
        past = self.history[-1]
        found = [seats[worker] for worker in past.membership.workers if worker in seats]
        return any(seat.stage is Stage.READY and seat.since > past.at for seat in found)


def _gone(member: Member, seat: Seat | None) -> Seat:
    if seat is None:
        return Seat(node=member.node, host=member.host, alive=False)
    return replace(seat, alive=False)
