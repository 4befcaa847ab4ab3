"""What a job was and what became of it, from its record and its events: the material of exported traces and of shadows.

Everything that decided about a job is in its record; when something was wished or changed is in its events. Where
neither tells how fast a job is or how much it has to do, its run does, and what was guessed that way is marked.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from tenuto.forecast.rates import Rates, Terms, rate_at, rates_of
from tenuto.model.event import Event
from tenuto.model.job import Job, Reply
from tenuto.model.phase import ENDED, PLACED, Phase, PromiseState

EVERYWHERE = 1 << 30
"""Slots of a cluster on which no job is too large."""
CUT_SHORT = (Phase.FAILED, Phase.LOST, Phase.CANCELLED)
"""Ends before all was done."""
SHORTEST = 1.0
"""Seconds of work that a job has done at least which had slots and ended."""


class Guess(StrEnum):
    """What about a job is not as it was, and could not be."""

    CURVE = "curve_from_run"
    """Its curve is not known: its speed is that of its run, in proportion to its workers."""
    STEPS = "steps_from_run"
    """Nobody knows how many steps it has: what it did counts, where need be in seconds of one worker."""
    SHORT = "ended_early"
    """It failed, was lost or was cancelled: the steps are those that it did."""
    PINNED = "pinned"
    """Its owner fixed its size: it has that size only, all the time."""
    PAUSED = "paused"
    """It was paused for a while, which a trace cannot tell."""
    DEADLINE = "deadline_changed"
    """Its deadline was changed on the way: the first one counts."""
    HELD = "waited_for_another"
    """It waited for another job: it arrives when that one had ended."""


class LeftOut(StrEnum):
    """Why a job cannot be told of at all."""

    NEVER_RAN = "never_ran"
    """It never ran, and nobody knows how long it takes."""
    WITHDRAWN = "cancelled_before_start"
    """It was cancelled, or failed, before it ever had slots."""
    WAITS = "waits_for_another"
    """It waits for another job, or did so until its end."""
    LATE = "deadline_before_start"
    """Its deadline had passed before it was its turn."""
    NO_SLOTS = "takes_no_slots"
    """It runs beside the slots, and no policy decides about it."""
    NOWHERE = "fits_nowhere"
    """No size that it can have fits the cluster."""


class WishKind(StrEnum):
    """What the owner of a job may want of it later."""

    CANCEL = "cancel"
    PAUSE = "pause"
    RESUME = "resume"
    DEADLINE = "deadline"
    URGENT = "urgent"
    NORMAL = "normal"


class Wish(NamedTuple):
    """Something that a user wanted, and when."""

    at: float
    kind: WishKind
    deadline: float | None = None
    """With DEADLINE: the new one; None takes it away."""


class Stretch(NamedTuple):
    """For how long a job had how many slots."""

    begin: float
    end: float
    workers: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """What really became of a job."""

    phase: Phase
    started: float | None
    ended: float | None
    declined: bool
    promised: float | None
    promise: PromiseState
    rescales: int
    """Changes of its slots after its first start."""
    workers: int
    """Slots that it holds now."""
    stretches: tuple[Stretch, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PastJob:
    """A job as a simulator can run it again, and how it really went. Times are Unix seconds."""

    id: str
    number: int
    name: str
    owner: str
    arrived: float
    """From when on rounds could decide about it."""
    total: float | None
    """All its steps, as policies knew them; None if nobody did."""
    done: float
    """Steps that it has done: all of them, if it has succeeded."""
    rates: Rates
    """Every size that it may have, with its steps per second."""
    wanted: int
    """The size that fixed-size policies give, if they can."""
    batch: int
    deadline: float | None
    """The first one that it had."""
    urgent: bool
    node: str
    """The only node it may run on; empty for any."""
    wishes: tuple[Wish, ...]
    guesses: frozenset[Guess]
    course: Course


@dataclass(frozen=True, slots=True, kw_only=True)
class TraceJob:
    """One row of a trace, before it has a cluster to run on. Times are Unix seconds."""

    id: str
    arrived: float
    steps: float
    deadline: float | None
    batch: int
    wanted: int
    rates: Rates
    guesses: frozenset[str] = frozenset()
    """Codes: those of `Guess`, or what a newer server says."""


def past_of(job: Job, events: Sequence[Event], now: float) -> PastJob | LeftOut:
    """What there is to tell of a job, by its record and all its events in their order."""
    if job.spec.cpu_only:
        return LeftOut.NO_SLOTS
    if _never_asked(job):
        return LeftOut.WAITS
    stretches = stretches_of(events, now if job.ended_at is None else job.ended_at)
    wishes = tuple(wish for event in events if (wish := _wish(event)) is not None)
    measured = _measured(job, stretches)
    if measured is None:
        return LeftOut.NEVER_RAN
    rates, done, guesses = measured
    held = job.spec.after is not None and any(event.before == Phase.HELD for event in events)
    return PastJob(
        id=job.id,
        number=job.number,
        name=job.spec.name,
        owner=job.owner,
        arrived=_arrival(job, events),
        total=job.total,
        done=done,
        rates=rates,
        wanted=job.spec.requested,
        batch=job.spec.global_batch or 1,
        deadline=_first_deadline(job, events),
        urgent=job.urgent,
        node=job.spec.node,
        wishes=wishes,
        guesses=frozenset({*guesses, *_told_by(wishes, job), *([Guess.HELD] if held else [])}),
        course=_course(job, stretches, sum(bool(_size_after(event)) for event in events)),
    )


def trace_job(past: PastJob) -> TraceJob | LeftOut:
    """The row that tells of a job: the steps that it was asked for, or that it did where that was less."""
    steps = past.total
    if steps is None or past.course.phase in CUT_SHORT:
        steps = past.done
    if past.course.phase in CUT_SHORT and past.course.started is None:
        return LeftOut.WITHDRAWN
    if steps <= 0.0:
        return LeftOut.NEVER_RAN
    if past.deadline is not None and past.deadline <= past.arrived:
        return LeftOut.LATE
    return TraceJob(
        id=past.id,
        arrived=past.arrived,
        steps=steps,
        deadline=past.deadline,
        batch=past.batch,
        wanted=past.wanted,
        rates=past.rates,
        guesses=past.guesses,
    )


def _never_asked(job: Job) -> bool:
    """Whether no round was ever asked about it, and none is going to be soon."""
    if job.contract is not None:
        return False
    return job.phase is Phase.HELD or (job.phase in ENDED and job.spec.after is not None)


def _arrival(job: Job, events: Iterable[Event]) -> float:
    released = (
        event.at
        for event in events
        if event.kind == "phase" and event.before == Phase.HELD and event.after == Phase.SUBMITTED
    )
    return next(released, job.submitted_at) if job.spec.after is not None else job.submitted_at


def _first_deadline(job: Job, events: Iterable[Event]) -> float | None:
    changes = (event.data["deadline"] for event in events if "deadline" in _changed(event))
    first: float | None = next((before for before, _ in changes), job.deadline)
    return first


def _changed(event: Event) -> Iterable[str]:
    return event.data if event.kind == "changed" else ()


def _wish(event: Event) -> Wish | None:
    if event.kind == "wish" and event.after in list(WishKind):
        return Wish(event.at, WishKind(event.after))
    if "deadline" in _changed(event):
        return Wish(event.at, WishKind.DEADLINE, event.data["deadline"][1])
    if "priority" in _changed(event):
        return Wish(event.at, WishKind(event.data["priority"][1]))
    return None


def _told_by(wishes: Iterable[Wish], job: Job) -> set[Guess]:
    kinds = {wish.kind for wish in wishes}
    told = {
        Guess.PAUSED: WishKind.PAUSE in kinds,
        Guess.DEADLINE: WishKind.DEADLINE in kinds,
        Guess.PINNED: job.pin is not None,
        Guess.SHORT: job.phase in CUT_SHORT,
    }
    return {guess for guess, true in told.items() if true}


def stretches_of(events: Iterable[Event], until: float) -> tuple[Stretch, ...]:
    """How long it had which size; an end without a word of its slots is an end of them all the same."""
    found: list[Stretch] = []
    since, workers = 0.0, 0
    for event in events:
        after = _size_after(event)
        if after is None or after == workers:
            continue
        if workers and event.at > since:
            found.append(Stretch(since, event.at, workers))
        since, workers = event.at, after
    if workers and until > since:
        found.append(Stretch(since, until, workers))
    return tuple(found)


def _size_after(event: Event) -> int | None:
    """The slots that a job has after an event; None if the event does not tell."""
    if event.kind == "scaled":
        return int(event.data.get("workers", 0))
    if event.kind == "phase" and event.after in list(Phase) and Phase(event.after) not in PLACED:
        return 0
    return None


def _measured(job: Job, stretches: Sequence[Stretch]) -> tuple[Rates, float, set[Guess]] | None:
    """How fast it is, how many steps it did, and what of that is a guess; None if nothing tells."""
    guesses: set[Guess] = set()
    worker_seconds = sum((one.end - one.begin) * one.workers for one in stretches)
    pace = job.pace or 1.0
    if not job.curve:
        if not worker_seconds:
            return None
        guesses.add(Guess.CURVE)
        if job.total and job.phase is Phase.SUCCEEDED:
            pace = job.total / worker_seconds
    spec, pinned = job.spec, 0 if job.pin is None else job.pin.workers
    curve = tuple(sorted(job.curve.items()))
    rates = rates_of(Terms(curve, spec.min_workers, spec.max_workers, pinned, 0, EVERYWHERE, pace))
    if not rates:
        return None
    if job.total:
        return rates, _done_of(job, job.total, rates), guesses
    guesses.add(Guess.STEPS)
    seen = dict(rates)
    did = sum((one.end - one.begin) * rate_at(seen, one.workers)[0] for one in stretches)
    return rates, did, guesses


def _done_of(job: Job, total: float, rates: Rates) -> float:
    if job.phase is Phase.SUCCEEDED:
        return total
    did = max(total - job.progress.left, 0.0)
    if job.phase in ENDED and job.started_at is not None:
        return max(did, SHORTEST * rates[0][1])
    return did


def _course(job: Job, stretches: Sequence[Stretch], changes: int) -> Course:
    contract = job.contract
    return Course(
        phase=job.phase,
        started=stretches[0].begin if stretches else job.started_at,
        ended=job.ended_at,
        declined=contract is not None and contract.reply in (Reply.DECLINED, Reply.UNSCHEDULABLE),
        promised=None if contract is None else contract.promised,
        promise=job.promise,
        rescales=max(changes - 1, 0),
        workers=sum(map(len, job.slots.values())),
        stretches=tuple(stretches),
    )
