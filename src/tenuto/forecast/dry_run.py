"""The whole answer to jobs that nobody has submitted: by the round, the estimate and the words of the real one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf

import numpy as np

from tenuto.forecast.ahead import FARTHEST, FOR_AN_ANSWER
from tenuto.forecast.contract import contract_of
from tenuto.forecast.eta import Eta
from tenuto.forecast.future import Future, foresee, foresee_without
from tenuto.forecast.measuring import plan_measuring
from tenuto.forecast.memory import plan_of
from tenuto.forecast.picture import Scene
from tenuto.forecast.rates import being_measured
from tenuto.forecast.spread import Past
from tenuto.forecast.stretch import Stretch, joined
from tenuto.forecast.whatif import Difference, differences
from tenuto.model.job import Contract, Job, Reply
from tenuto.policy.base import Policy
from tenuto.settings import Learning

MOST_STRETCHES = 100
"""Stretches of one plan that are told."""
UNKNOWN = Eta()


@dataclass(frozen=True, slots=True)
class Plan:
    """What a job would get."""

    job: Job
    contract: Contract | None
    """The answer; None for one that waits for another job and is answered after that."""
    eta: Eta = UNKNOWN
    later_than: float | None = None
    place: Mapping[str, Sequence[int]] | None = None
    """Where it would begin now; None if it would wait."""
    reserved: tuple[Stretch, ...] = ()
    """What is promised to it; none without a promise."""
    foreseen: tuple[Stretch, ...] = ()
    """What it will probably have, spare slots included."""


@dataclass(frozen=True, slots=True)
class DryRun:
    """What new jobs would get, and what they would do to others."""

    plans: tuple[Plan, ...]
    moved: tuple[Difference, ...]
    """Others for whom something would change, the gravest first."""
    exact: bool
    """Whether every event ahead was looked at."""


def dry_run(scene: Scene, new: Sequence[Job], policy: Policy, past: Past, learning: Learning) -> DryRun:
    """Answer new jobs together, as one round would that finds them all."""
    ids = frozenset(job.id for job in new)
    after = foresee(replace(scene, jobs=[*scene.jobs, *new]), policy, past, FOR_AN_ANSWER)
    if after.picture.asked_again:  # who is answered anew may be answered differently beside them
        before = foresee(scene, policy, past, FOR_AN_ANSWER)
    else:
        before = foresee_without(after, ids, FOR_AN_ANSWER)
    plans = tuple(plan_for(job, after, learning) for job in new)
    moved = differences(before, after, leave_out=ids).found
    return DryRun(plans, moved, before.exact and after.exact)


def plan_for(job: Job, future: Future, learning: Learning) -> Plan:
    """What one new job gets in a future that it is part of."""
    row = future.picture.row_of(job.number)
    if row is None:
        return Plan(job, None)
    seen, fate = future.seen, future.fates([job.id])[job.id]
    contract = _contract(job, row, future, learning)
    slots = np.flatnonzero(seen.first.plan.layout == job.number).tolist()
    place = future.picture.named(slots) if slots else None
    if seen.verdicts[row].refused:
        return Plan(job, contract)
    if contract.reply is Reply.MEASURING:  # nobody knows how fast it is
        return Plan(job, contract, Eta(start=fate.eta.start), place=place)
    return Plan(
        job,
        contract,
        eta=fate.eta,
        later_than=fate.later_than,
        place=place,
        reserved=reserved(future, row),
        foreseen=foreseen(future, row),
    )


def _contract(job: Job, row: int, future: Future, learning: Learning) -> Contract:
    taken, seen = future.picture, future.seen
    verdict = seen.verdicts[row]
    if being_measured(job) and not verdict.refused:
        now = taken.epoch + taken.snapshot.now
        return plan_measuring(job, now, taken.snapshot.cluster.total, learning)
    hopes = verdict.promised is None and not verdict.refused and seen.finish[row] < inf
    estimate = float(seen.finish[row]) if hopes else None
    return contract_of(taken, future.policy, row, verdict, estimate)


def reserved(future: Future, row: int) -> tuple[Stretch, ...]:
    """How many slots are promised to a row when."""
    taken = future.picture
    requested = int(taken.snapshot.requested[row])
    told = [
        Stretch(taken.epoch + part.begin, taken.epoch + part.end, part.slots or requested)
        for part in plan_of(future.seen.first.memory, int(taken.snapshot.number[row]))
    ]
    return tuple(joined(told)[:MOST_STRETCHES])


def foreseen(future: Future, row: int) -> tuple[Stretch, ...]:
    """How many slots a row is seen to have when."""
    taken, seen = future.picture, future.seen
    farthest = taken.snapshot.now + FARTHEST
    changes = [(taken.epoch + at, slots) for at, slots in seen.sizes.get(row, ()) if at < farthest]
    if taken.snapshot.held[row] and (not changes or changes[0][0] > taken.epoch + taken.snapshot.now):
        changes.insert(0, (taken.epoch + taken.snapshot.now, int(taken.snapshot.held[row])))
    done = None if seen.finish[row] > farthest else taken.epoch + float(seen.finish[row])
    ends = [*(at for at, _ in changes[1:]), done]
    told = [Stretch(at, end, slots) for (at, slots), end in zip(changes, ends, strict=False) if slots]
    return tuple(told[:MOST_STRETCHES])
