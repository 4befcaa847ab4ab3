"""What is known of the workers of one job, and of the generations they may be in. Values only."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

from tenuto.wire.membership import Membership
from tenuto.wire.status import Stage, Status
from tenuto.wire.worker import CrewOrder

_DRAINED = 143


class Activity(StrEnum):
    """What a process does, as the system sees it."""

    IDLE = "idle"
    BUSY = "busy"
    """It uses a core or waits for one, or for a disk: it may be slow, but it works at something."""
    HALTED = "halted"
    """Somebody stopped it (SIGSTOP)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    """One worker as its supervisor sees it."""

    node: str
    host: str
    """Where others reach it."""
    alive: bool = True
    """False if it is gone for certain; a worker that waits for its slot is alive."""
    blocked: bool = False
    """It waits for a slot that somebody holds."""
    exit_code: int | None = None
    status: Status | None = None
    """What it shows, or showed last; `since` by the clock of whoever decides."""
    activity: Activity = Activity.IDLE
    step_seconds: float | None = None
    """How long a step usually takes it."""

    @property
    def stage(self) -> Stage:
        """Where it stands."""
        return Stage.STARTING if self.status is None else self.status.stage

    @property
    def generation(self) -> int:
        """The membership it has joined last; 0 before the first."""
        return 0 if self.status is None else self.status.generation

    @property
    def since(self) -> float:
        """When its stage began."""
        return 0.0 if self.status is None else self.status.since

    @property
    def ready(self) -> bool:
        """Whether it waits for a membership, and others can reach its store."""
        return self.alive and self.stage is Stage.READY and self.status is not None and self.status.port > 0

    @property
    def done(self) -> bool:
        """Whether it has trained to the end."""
        return self.stage is Stage.FINISHED or (not self.alive and self.exit_code == 0)

    @property
    def drained(self) -> bool:
        """Whether it left as it was told, so that nobody waits for it."""
        return not self.alive and self.exit_code == _DRAINED and self.stage is Stage.LEAVING


@dataclass(frozen=True, slots=True)
class Published:
    """A membership, and when it was made known."""

    membership: Membership
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """All that a decision about a job's next generation rests on."""

    order: CrewOrder
    ordered_at: float
    """Since when these members are wanted."""
    seats: Mapping[str, Seat]
    """By worker id. Of a worker that is not in it nothing is known, not even that it is gone."""
    history: tuple[Published, ...] = ()
    """Ascending: the newest membership, and those before it that somebody may still be in."""

    @property
    def last(self) -> Membership | None:
        """The newest membership."""
        return self.history[-1].membership if self.history else None

    @property
    def wanted(self) -> tuple[str, ...]:
        """The ids of the workers that shall be there, by rank."""
        return tuple(str(member) for member in self.order.members)

    def dead(self, worker: str) -> bool:
        """Whether a worker is known to be gone without having finished."""
        seat = self.seats.get(worker)
        return seat is not None and not seat.alive and not seat.done

    def done(self, worker: str) -> bool:
        """Whether a worker is known to have trained to the end."""
        seat = self.seats.get(worker)
        return seat is not None and seat.done

    def living(self, workers: Iterable[str]) -> tuple[str, ...]:
        """Those that may still be there."""
        return tuple(worker for worker in workers if not self._gone(worker))

    def _gone(self, worker: str) -> bool:
        seat = self.seats.get(worker)
        return seat is not None and not seat.alive

    def members(self) -> frozenset[str]:
        """Everybody who is, or was, in a generation that is not over."""
        return frozenset(worker for past in self.history for worker in past.membership.workers)

    def possible(self, worker: str) -> list[Membership]:
        """Those that a living worker may be in, or be about to form."""
        seat = self.seats.get(worker)
        floor = 0 if seat is None else seat.generation
        return [
            published.membership
            for published in self.history
            if published.membership.generation >= floor and worker in published.membership.workers
        ]

    def missed(self) -> tuple[str, ...]:
        """Workers that are gone without a word, and for which somebody may be waiting."""
        possible = {
            worker
            for living in self.living(self.members())
            for membership in self.possible(living)
            for worker in membership.workers
        }
        return tuple(worker for worker in sorted(possible) if self.dead(worker) and not self._left(worker))

    def _left(self, worker: str) -> bool:
        """Whether it went because it was told to; one that is in the newest membership was not."""
        return self.seats[worker].drained and self.last is not None and worker not in self.last.workers


def published(situation: Situation, membership: Membership, now: float) -> Situation:
    """The situation after a membership was made known."""
    return replace(situation, history=(*situation.history, Published(membership, now)))


def prune(situation: Situation) -> Situation:
    """Forget the memberships in which nobody can be any more; the newest is never forgotten."""
    needed = {
        membership.generation
        for worker in situation.living(situation.members())
        for membership in situation.possible(worker)
    }
    kept = tuple(
        past
        for index, past in enumerate(situation.history)
        if past.membership.generation in needed or index == len(situation.history) - 1
    )
    return replace(situation, history=kept)
