"""A job on its way through one tick: its record so far, what is to be told of it, and the only way to another phase."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from tenuto.model.event import Event
from tenuto.model.job import Ending, Job, Progress
from tenuto.model.phase import ENDED, NEXT, OPEN_PROMISES, Phase, PromiseState
from tenuto.store.base import Attempt

CONTROLLER = "controller"


class NoSuchStep(AssertionError):
    """Our bug: a job was to go where the table of phases does not lead."""


@dataclass(frozen=True, slots=True)
class Change:
    """One job in one tick. Every method gives the next value; nothing is written until the tick commits."""

    before: Job
    """The record as the store has it."""
    job: Job
    at: float
    """The moment of the tick."""
    left: float
    """Steps that the job still has to do at that moment."""
    events: tuple[Event, ...] = ()
    attempts: tuple[Attempt, ...] = ()

    @classmethod
    def of(cls, job: Job, at: float, left: float) -> Change:
        """Nothing has changed yet."""
        return cls(job, job, at, left)

    @property
    def changed(self) -> bool:
        """Whether there is anything to be written."""
        if self.events or self.attempts:
            return True
        return self.job is not self.before and self.job != self.before

    def put(self, **fields: Any) -> Change:
        """Change the record."""
        return replace(self, job=replace(self.job, **fields))

    def tell(self, kind: str, *, actor: str = CONTROLLER, **what: Any) -> Change:
        """Add an event about the job."""
        event = Event(kind=kind, at=self.at, actor=actor, job=self.job.id, **what)
        return replace(self, events=(*self.events, event))

    def note(self, *attempts: Attempt) -> Change:
        """Remember starts of workers, or how they ended."""
        return replace(self, attempts=(*self.attempts, *attempts))

    def move(self, phase: Phase, why: str, message: str, actor: str = CONTROLLER) -> Change:
        """Go to another phase, if the table leads there, and tell it; in the same phase only the reason changes."""
        old = self.job.phase
        change = self.put(phase=phase, why=why, message=message)
        if phase is old:
            return change
        if phase not in NEXT[old]:
            raise NoSuchStep(f"job {self.job.id}: there is no way from {old} to {phase} ({why})")
        if phase in ENDED and change.job.ended_at is None:
            change = change.put(ended_at=self.at)
        told = {"before": old.value, "after": phase.value, "reason": message, "data": {"why": why}}
        return change.tell("phase", actor=actor, **told)

    def take(
        self, places: Mapping[str, tuple[int, ...]], speed: float, ready_at: float, *, beside: bool = False
    ) -> Change:
        """Have other places from now on, in a new generation; they make progress from `ready_at` on.

        They are slots that it holds, or seats `beside` them.
        """
        job = self._paid_off().job
        return self.put(
            slots={} if beside else dict(places),
            seats=dict(places) if beside else {},
            generation=job.generation + 1,
            ran_for=job.ran_for,
            slot_seconds=job.slot_seconds,
            progress=self._anchor(speed=speed, ready_at=ready_at, changed_at=self.at),
        )

    def keep_seats(self) -> Change:
        """Hold as slots from now on what were seats; the workers there go on, and so does the generation."""
        job = self._paid_off().job
        return self.put(
            slots=dict(job.seats),
            seats={},
            ran_for=job.ran_for,
            progress=self._anchor(changed_at=self.at),
        )

    def release(self) -> Change:
        """Have no place any more."""
        job = self._paid_off().job
        if not job.places:
            return self
        # Who rescales in place is told to leave by an order of its own, which must be newer than the last one.
        generation = job.generation + job.spec.in_place
        anchor = self._anchor(speed=0.0, changed_at=self.at)
        return self.put(
            slots={},
            seats={},
            members=(),
            generation=generation,
            ran_for=job.ran_for,
            slot_seconds=job.slot_seconds,
            idle_since=None,
            shrunk=False,
            port=None,
            progress=anchor,
        )

    def end(self, ending: Ending) -> Change:
        """Decide how the job ends; its phase follows when all its workers are gone for certain."""
        return self.release().put(ending=ending, message=ending.message, why=ending.why)

    def promise(self, state: PromiseState, breach: str = "", actor: str = CONTROLLER) -> Change:
        """Note what has become of the promise, and why."""
        old = self.job.promise
        change = self.put(promise=state, breach=breach)
        if state is old:
            return change
        return change.tell("promise", actor=actor, before=old.value, after=state.value, reason=breach)

    def withdraw(self, reason: str, actor: str) -> Change:
        """The owner gives a promise back by what he does."""
        if self.job.promise not in OPEN_PROMISES:
            return self
        return self.promise(PromiseState.WITHDRAWN, reason, actor)

    def believe(self, step: float, left: float) -> Change:
        """A worker has told its step: what is left follows from that, not from the curve."""
        told = replace(self.job.progress, left=left, as_of=self.at, step=step)
        return replace(self, left=left, job=replace(self.job, progress=told))

    def _paid_off(self) -> Change:
        """Count the time of the present generation."""
        if not self.job.places:
            return self
        ran = ran_for(self.job, self.at)
        held = sum(map(len, self.job.slots.values()))
        return self.put(ran_for=ran, slot_seconds=self.job.slot_seconds + held * (ran - self.job.ran_for))

    def _anchor(self, **fields: float) -> Progress:
        return replace(self.job.progress, left=self.left, as_of=self.at, **fields)


def ran_for(job: Job, now: float) -> float:
    """Seconds with slots, or seats beside them, over all generations."""
    return job.ran_for + (max(now - job.progress.changed_at, 0.0) if job.places else 0.0)


def counted(workers: int) -> str:
    """A number of workers for people: `1 worker`, `2 workers`."""
    return f"{workers} worker{'' if workers == 1 else 's'}"


def allocation(slots: Mapping[str, tuple[int, ...]]) -> str:
    """Slots or seats for people: `node-0:1,node-1:2`."""
    return ",".join(f"{node}:{len(numbers)}" for node, numbers in sorted(slots.items()) if numbers)
