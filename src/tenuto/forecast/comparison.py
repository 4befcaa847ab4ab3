"""A policy in a world of its own beside what really happened: in numbers, and the most telling jobs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import isnan, nan
from statistics import fmean, median

import numpy as np

from tenuto.forecast.alongside import Imagined, Usage
from tenuto.forecast.past import PastJob
from tenuto.model.phase import Phase, PromiseState

TELLING = 60.0
"""Seconds by which a finish must differ to be worth a word."""
PART = 0.1
"""The same as a part of the time from arrival to finish."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fate:
    """What became of one job, really or in a world. Unix seconds, NaN for never."""

    job: PastJob
    declined: bool
    started: float
    finished: float
    promised: float
    slots: int
    rescales: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Tally:
    """One policy's week. Waits and completion times are in seconds; None where there is nothing to average."""

    jobs: int
    with_deadline: int
    admitted: int
    """Jobs that were not declined, whether with a promise or without."""
    declined: int
    promised: int
    kept: int
    missed: int
    """Promises that were not held: done late, or late already."""
    in_time: int
    """Jobs with a deadline that were done by then, promised or not."""
    late: int
    finished: int
    mean_wait: float | None
    median_wait: float | None
    mean_completion: float | None
    median_completion: float | None
    rescales: int
    utilisation: float | None
    """Of the slots that could be used."""


class Kind(StrEnum):
    """How a job fares differently."""

    DECLINED = "declined"
    """Declined there, not really."""
    ADMITTED = "admitted"
    """Admitted there, really declined."""
    IN_TIME = "in_time"
    """Done by its deadline there, really late."""
    LATE = "late"
    EARLIER = "earlier"
    LATER = "later"
    SLOTS = "slots"
    """Would have other slots now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One job that fares differently."""

    job: PastJob
    kind: Kind
    seconds: float = 0.0
    """By how much it is done earlier or later."""
    slots: int = 0
    """With SLOTS: there."""
    really: int = 0
    """With SLOTS: really."""


def really(job: PastJob) -> Fate:
    """What became of a job."""
    course = job.course
    done = course.phase is Phase.SUCCEEDED
    withdrawn = course.promise in (PromiseState.WITHDRAWN, PromiseState.NONE)
    return Fate(
        job=job,
        declined=course.declined,
        started=nan if course.started is None else course.started,
        finished=nan if not done or course.ended is None else course.ended,
        promised=nan if withdrawn or course.promised is None else course.promised,
        slots=course.workers,
        rescales=course.rescales,
    )


def imagined(job: PastJob, row: int, world: Imagined) -> Fate:
    """What became of it in another world. Whoever really failed is not done there either."""
    failed = job.course.phase in (Phase.FAILED, Phase.LOST)
    return Fate(
        job=job,
        declined=bool(world.refused[row]),
        started=float(world.started[row]),
        finished=nan if failed else float(world.finished[row]),
        promised=float(world.promised[row]),
        slots=int(world.held[row]),
        rescales=int(world.rescales[row]),
    )


def real_usage(jobs: Sequence[PastJob], ground: Usage) -> Usage:
    """How many slots were in use, by the jobs' own stretches; `ground` tells how many could be used."""
    stretches = [one for job in jobs for one in job.course.stretches]
    moments = np.unique([*ground.at.tolist(), *(edge for one in stretches for edge in (one.begin, one.end))])
    busy = np.zeros(len(moments), dtype=np.int64)
    for one in stretches:
        busy[np.searchsorted(moments, one.begin) : np.searchsorted(moments, one.end)] += one.workers
    known = np.searchsorted(ground.at, moments, side="right") - 1
    usable = np.where(known >= 0, ground.usable[np.maximum(known, 0)], 0) if len(ground.at) else busy * 0
    # Guests on others' slots have stretches too, but no slots of their own.
    return Usage(moments, np.minimum(busy, usable), usable)


def tally(fates: Sequence[Fate], usage: Usage, since: float, now: float) -> Tally:
    """Count one policy's time from `since` to `now`; the fates are those of the jobs that arrived in it."""
    waits = [fate.started - fate.job.arrived for fate in fates if not isnan(fate.started)]
    spent = [fate.finished - fate.job.arrived for fate in fates if not isnan(fate.finished)]
    dated = [fate for fate in fates if fate.job.deadline is not None]
    promises = [fate for fate in fates if not isnan(fate.promised)]
    in_time = sum(_held(fate, _deadline(fate), now) is True for fate in dated)
    late = sum(_held(fate, _deadline(fate), now) is False for fate in dated if not fate.declined)
    return Tally(
        jobs=len(fates),
        with_deadline=len(dated),
        admitted=sum(not fate.declined for fate in fates),
        declined=sum(fate.declined for fate in fates),
        promised=len(promises),
        kept=sum(_held(fate, fate.promised, now) is True for fate in promises),
        missed=sum(_held(fate, fate.promised, now) is False for fate in promises),
        in_time=in_time,
        late=late,
        finished=len(spent),
        mean_wait=fmean(waits) if waits else None,
        median_wait=median(waits) if waits else None,
        mean_completion=fmean(spent) if spent else None,
        median_completion=median(spent) if spent else None,
        rescales=sum(fate.rescales for fate in fates),
        utilisation=_utilisation(usage, since, now),
    )


def _deadline(fate: Fate) -> float:
    assert fate.job.deadline is not None
    return fate.job.deadline


def _held(fate: Fate, by: float, now: float) -> bool | None:
    """Whether a job was done by a moment; None while that is open, or if its owner gave it up."""
    if not isnan(fate.finished):
        return fate.finished <= by
    if fate.job.course.phase is Phase.CANCELLED:
        return None
    return False if now > by else None


def _utilisation(usage: Usage, since: float, now: float) -> float | None:
    if not len(usage.at) or now <= since:
        return None
    edges = np.clip(np.append(usage.at, now), since, now)
    seconds = np.diff(edges)
    usable = float(np.dot(usage.usable, seconds))
    return float(np.dot(usage.busy, seconds)) / usable if usable > 0.0 else None


def differences(pairs: Sequence[tuple[Fate, Fate]], now: float, most: int) -> tuple[Difference, ...]:
    """The jobs that fare most differently, the most telling first; each pair is what really was, and the other."""
    order = list(Kind)
    found = [one for real, other in pairs if (one := _difference(real, other, now)) is not None]
    found.sort(key=lambda one: (_rank(one, order), -one.seconds, one.job.number))
    return tuple(found[:most])


def _rank(one: Difference, order: Sequence[Kind]) -> int:
    """Earlier and later finishes are told together, the largest difference first."""
    return order.index(Kind.EARLIER if one.kind is Kind.LATER else one.kind)


def _difference(real: Fate, other: Fate, now: float) -> Difference | None:
    job = real.job
    if real.declined != other.declined:
        return Difference(job=job, kind=Kind.DECLINED if other.declined else Kind.ADMITTED)
    if job.deadline is not None and not real.declined:
        before, after = _held(real, job.deadline, now), _held(other, job.deadline, now)
        if {before, after} == {True, False}:
            kind = Kind.IN_TIME if after else Kind.LATE
            return Difference(job=job, kind=kind, seconds=_apart(real, other))
    seconds = _apart(real, other)
    if seconds > max(TELLING, PART * (real.finished - job.arrived)):
        kind = Kind.EARLIER if other.finished < real.finished else Kind.LATER
        return Difference(job=job, kind=kind, seconds=seconds)
    if isnan(real.finished) and isnan(other.finished) and real.slots != other.slots:
        return Difference(job=job, kind=Kind.SLOTS, slots=other.slots, really=real.slots)
    return None


def _apart(real: Fate, other: Fate) -> float:
    seconds = abs(real.finished - other.finished)
    return 0.0 if isnan(seconds) else seconds


def in_words(one: Difference) -> str:
    """A difference as one says it."""
    match one.kind:
        case Kind.DECLINED:
            return "would have been declined"
        case Kind.ADMITTED:
            return "would have been admitted"
        case Kind.IN_TIME:
            return f"would have been done in time, {_span(one.seconds)} earlier"
        case Kind.LATE:
            return f"would have been late, {_span(one.seconds)} later"
        case Kind.EARLIER | Kind.LATER:
            return f"would have been done {_span(one.seconds)} {one.kind.value}"
        case Kind.SLOTS:
            slots = "slot" if one.slots == 1 else "slots"
            return f"would have {one.slots} {slots} now instead of {one.really}"


def _span(seconds: float) -> str:
    """A duration, roughly."""
    for length, unit in ((86_400.0, "d"), (3600.0, "h"), (60.0, "min")):
        if seconds >= 2.0 * length:
            return f"{seconds / length:.3g} {unit}"
    return f"{seconds:.0f} s"
