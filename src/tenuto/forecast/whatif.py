"""A scene that is different in some way, and what that would change for everybody. Nothing is written anywhere."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import count
from math import inf

from tenuto.forecast.ahead import GRAIN
from tenuto.forecast.future import Fate, Future, Standing
from tenuto.forecast.picture import Scene
from tenuto.forecast.rates import rate_at
from tenuto.model.job import Job
from tenuto.model.node import Node, NodeState, Slot
from tenuto.model.phase import OPEN_PROMISES, PLACED, Phase

A_MOMENT = 1.0
"""Seconds by which a finish must differ to be told."""


class Effect(StrEnum):
    """What a change does to a job, the gravest first."""

    LOST = "lost"
    """It may not be started again, and ends."""
    BROKEN = "broken"
    """A promise that would not be kept any more."""
    REFUSED = "refused"
    """It waits for its first answer, and that would be no instead of yes."""
    LATER = "later"
    CANCELLED = "cancelled"
    EARLIER = "earlier"
    ADMITTED = "admitted"
    """It would get an answer, or a better one."""
    KEPT = "kept"
    """A promise that is at risk would be kept."""
    NONE = "none"


@dataclass(frozen=True, slots=True)
class Difference:
    """One job in both worlds; None where it is not part of rounds."""

    job: Job
    effect: Effect
    before: Fate | None
    after: Fate | None


@dataclass(frozen=True, slots=True)
class Loss:
    """A scene without some nodes, and the jobs that would end by it."""

    scene: Scene
    lost: frozenset[str]


# scenes that are different


def with_nodes(scene: Scene, slots: Sequence[int]) -> Scene:
    """More nodes with so many slots each; whoever fitted nowhere asks again."""
    taken = {node.name for node in scene.nodes}
    names = (name for place in count(1) if (name := f"further-{place}") not in taken)
    first = max((node.number for node in scene.nodes), default=-1) + 1
    new = [
        Node(name=name, number=first + place, revision=0, state=NodeState.ONLINE, slots=(Slot(),) * size)
        for place, (name, size) in enumerate(zip(names, slots, strict=False))
    ]
    jobs = [_asks_again(job) if job.phase is Phase.UNSCHEDULABLE else job for job in scene.jobs]
    return replace(scene, nodes=[*scene.nodes, *new], jobs=jobs)


def as_nodes(scene: Scene, slots: int) -> list[int]:
    """Further slots as nodes like those that there are: the sizes of these nodes."""
    largest = max((len(node.slots) for node in scene.nodes), default=0) or slots
    whole, rest = divmod(slots, largest)
    return [largest] * whole + [rest] * bool(rest)


def without_nodes(scene: Scene, names: Collection[str]) -> Loss:
    """Nodes are gone with all that ran there: it is started elsewhere, or goes on with those that are left."""
    gone = frozenset(names)
    nodes = [replace(node, state=NodeState.OFFLINE) if node.name in gone else node for node in scene.nodes]
    hit = {job.id for job in scene.jobs if job.phase in PLACED and not gone.isdisjoint(job.slots)}
    lost = frozenset(job.id for job in scene.jobs if job.id in hit and not _may_start_again(job))
    jobs = [_hit(job, gone, scene) if job.id in hit else job for job in scene.jobs if job.id not in lost]
    return Loss(replace(scene, nodes=nodes, jobs=jobs), lost)


def without_jobs(scene: Scene, ids: Collection[str]) -> Scene:
    """Some jobs are gone."""
    return replace(scene, jobs=[job for job in scene.jobs if job.id not in ids])


def with_deadline(scene: Scene, id_: str, deadline: float | None) -> Scene:
    """Another deadline for one job; a later one than promised extends the promise, as the platform does it."""
    return replace(scene, jobs=[_due(job, deadline) if job.id == id_ else job for job in scene.jobs])


def _due(job: Job, deadline: float | None) -> Job:
    contract = job.contract
    promised = contract.promised if contract is not None and job.promise in OPEN_PROMISES else None
    if contract is not None and promised is not None and deadline is not None and deadline > promised:
        contract = replace(contract, promised=deadline)
    return replace(job, deadline=deadline, contract=contract)


def _asks_again(job: Job) -> Job:
    return replace(job, phase=Phase.SUBMITTED, contract=None)


def _may_start_again(job: Job) -> bool:
    """By the rules of `retry.losses`: only losses without progress in between are counted."""
    step = job.progress.step
    progress = step is not None and (job.lost_at is None or step > job.lost_at)
    in_a_row = 1 if progress else job.lost_in_a_row + 1
    return in_a_row <= job.spec.retry.losses


def _hit(job: Job, gone: frozenset[str], scene: Scene) -> Job:
    """A job that has lost workers: it waits for a start, or its survivors go on at another size."""
    worked = max(scene.now - max(job.progress.as_of, job.progress.ready_at), 0.0) * job.progress.speed
    stopped = replace(job.progress, left=job.progress.left - worked, as_of=scene.now, speed=0.0)
    staying = {name: slots for name, slots in job.slots.items() if name not in gone}
    left = sum(map(len, staying.values()))
    if not job.spec.in_place or left < job.spec.min_workers:
        return replace(job, phase=Phase.QUEUED, slots={}, members=(), progress=stopped)
    speed = rate_at(job.curve, left)[0] if job.curve else (job.pace or 1.0) * left
    ready = scene.now + scene.rescale_cost
    going_on = replace(stopped, speed=speed, ready_at=ready, changed_at=scene.now)
    return replace(job, slots=staying, progress=going_on)


# what is different


@dataclass(frozen=True, slots=True)
class Differences:
    """Who is told of, the gravest effects first; and how many are not because nothing changes for them."""

    found: tuple[Difference, ...]
    unchanged: int


def differences(
    before: Future,
    after: Future,
    *,
    lost: Collection[str] = (),
    leave_out: Collection[str] = (),
    everybody: bool = False,
) -> Differences:
    """Compare two worlds: those for whom something changes, or all who are in one of them at least."""
    jobs = {job.id: job for job in (*after.picture.jobs, *before.picture.jobs) if job.id not in leave_out}
    looked_at = [id_ for id_ in jobs if everybody or not _is_the_same(id_, before, after)]
    then, now = before.fates(looked_at), after.fates(looked_at)
    precision = _Precision(before, after)
    found = [_difference(jobs[id_], then.get(id_), now.get(id_), precision, id_ in lost) for id_ in looked_at]
    told = [one for one in found if everybody or one.effect is not Effect.NONE]
    order = list(Effect)
    told.sort(key=lambda one: (order.index(one.effect), -_moved(one), one.job.number))
    changed = sum(one.effect is not Effect.NONE for one in told)
    return Differences(tuple(told), len(jobs) - changed)


def _is_the_same(id_: str, before: Future, after: Future) -> bool:
    """Whether a job's future need not be looked at closely: it is the same job, and ends at the same moment."""
    first, second = before.rows.get(id_), after.rows.get(id_)
    if first is None or second is None or before.picture.jobs[first] is not after.picture.jobs[second]:
        return False
    if first in before.seen.verdicts or second in after.seen.verdicts:
        return False
    return bool(before.seen.finish[first] == after.seen.finish[second] < inf)


@dataclass(frozen=True, slots=True)
class _Precision:
    """How far apart two finishes must be to mean something."""

    before: Future
    after: Future

    def apart(self, first: float, second: float) -> bool:
        """Whether these two, in Unix seconds, are different moments."""
        exact = self.before.exact and self.after.exact
        now = self.before.picture.epoch + self.before.picture.snapshot.now
        rough = 0.0 if exact else GRAIN * max(min(first, second) - now, 0.0)
        return abs(first - second) > max(A_MOMENT, rough)


def _difference(
    job: Job, before: Fate | None, after: Fate | None, precision: _Precision, lost: bool
) -> Difference:
    if after is None:
        return Difference(job, Effect.LOST if lost else Effect.CANCELLED, before, after)
    if before is None and after.standing is Standing.REFUSED:  # it asks again in vain, and goes on waiting
        return Difference(job, Effect.NONE, None, None)
    if before is None:
        return Difference(job, Effect.ADMITTED, before, after)
    return Difference(job, _by_standing(before, after) or _by_time(before, after, precision), before, after)


def _by_standing(before: Fate, after: Fate) -> Effect | None:
    worse = (Standing.AT_RISK, Standing.BROKEN)
    if after.standing in worse and before.standing not in worse:
        return Effect.BROKEN
    if after.standing is Standing.BROKEN and before.standing is Standing.AT_RISK:
        return Effect.BROKEN
    if (after.standing is Standing.REFUSED) != (before.standing is Standing.REFUSED):
        return Effect.REFUSED if after.standing is Standing.REFUSED else Effect.ADMITTED
    if before.standing in worse and after.standing is Standing.HOLDS:
        return Effect.KEPT
    return None


def _by_time(before: Fate, after: Fate, precision: _Precision) -> Effect:
    first, second = before.eta.finish, after.eta.finish
    if first is None or second is None:
        return _by_what_is_seen(before, after)
    if not precision.apart(first, second):
        return Effect.NONE
    return Effect.LATER if second > first else Effect.EARLIER


def _by_what_is_seen(before: Fate, after: Fate) -> Effect:
    """A finish that is seen in one world only tells something if the other was looked at as far."""
    first, second = before.eta.finish, after.eta.finish
    if first is None and second is None:
        return _by_start(before.eta.start, after.eta.start)
    if first is not None and _is_seen_not_to_end_by(first, after):
        return Effect.LATER
    if second is not None and _is_seen_not_to_end_by(second, before):
        return Effect.EARLIER
    return Effect.NONE


def _is_seen_not_to_end_by(moment: float, fate: Fate) -> bool:
    return fate.never or (fate.later_than is not None and moment < fate.later_than)


def _by_start(first: float | None, second: float | None) -> Effect:
    """Of jobs whose length nobody knows: whether they have slots, or get them, at another moment."""
    if first is None or second is None:
        return Effect.NONE if first == second else Effect.LATER if second is None else Effect.EARLIER
    if abs(first - second) <= A_MOMENT:
        return Effect.NONE
    return Effect.LATER if second > first else Effect.EARLIER


def _moved(one: Difference) -> float:
    """By how many seconds the finish moves; whoever is not seen any more moves farthest."""
    if one.before is None or one.after is None:
        return 0.0
    first, second = one.before.eta.finish, one.after.eta.finish
    if first is None or second is None:
        return inf if first != second else 0.0
    return abs(second - first)
