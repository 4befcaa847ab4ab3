"""From a round to new records: contracts, places, generations, progress; and what to give up if some jobs changed.

Pure: values in, values out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from math import inf

import numpy as np

from tenuto.engines.base import Observation
from tenuto.forecast.ahead import ahead
from tenuto.forecast.contract import contract_of
from tenuto.forecast.picture import Picture
from tenuto.forecast.rates import being_measured
from tenuto.live.change import Change, allocation
from tenuto.live.generation import Place, begin
from tenuto.live.learn import plan_measuring
from tenuto.live.promise import cause, late_by_plan
from tenuto.live.workers import SLOTS_TAKEN
from tenuto.model.job import Contract, Ending, Job, Member
from tenuto.model.node import Node
from tenuto.model.phase import OPEN_PROMISES, PLACED, Phase, PromiseState
from tenuto.model.plan import Action, ActionKind, Answer, Round, Verdict
from tenuto.policy.base import Policy
from tenuto.settings import Learning
from tenuto.wire.quantities import rfc3339

P = Phase
FORESIGHT = 100
"""Rounds that are run ahead for an estimate; who is not done by then gets none."""


@dataclass(frozen=True)
class Ruling:
    """A round, with everything that is needed to write it down."""

    round: Round
    picture: Picture
    policy: Policy
    nodes: Mapping[str, Node]
    seen: Observation
    learning: Learning = field(default_factory=Learning)
    restart_after: int = 0
    """Rescales in place after which a job is started anew as a whole; 0 for never."""

    @property
    def actor(self) -> str:
        """Who decided."""
        return f"policy:{self.policy.name}"

    @cached_property
    def estimates(self) -> Mapping[int, float]:
        """When newcomers that are promised nothing may be done, by number, in the snapshot's time."""
        numbers = self.picture.snapshot.number.tolist()
        hopeful = {
            number
            for number, verdict in self.round.verdicts.items()
            if verdict.promised is None and not verdict.refused
        }
        rows = [row for row, number in enumerate(numbers) if number in hopeful]
        if not rows:
            return {}
        seen = ahead(self.picture.snapshot, self.policy, watch=rows, rounds=FORESIGHT)
        return {numbers[row]: float(seen.finish[row]) for row in rows if seen.finish[row] < inf}


def decide(changes: Mapping[str, Change], ruling: Ruling) -> dict[str, Change]:
    """The changes of a tick with those of its round added."""
    after = dict(changes)
    actions = {action.number: action for action in ruling.round.actions}
    ports = {change.job.port or 0 for change in changes.values()}
    for row, job in enumerate(ruling.picture.jobs):
        change = changes[job.id]
        verdict = ruling.round.verdicts.get(job.number)
        if verdict is not None:
            change = _answered(change, row, verdict, ruling)
        action = actions.get(job.number)
        if action is not None or (change.job.slots and not ruling.picture.snapshot.held[row]):
            change = _placed(change, row, action, ruling, ports)
            ports |= {change.job.port or 0}
        if verdict is not None and change.job.phase is P.SUBMITTED:
            change = _waits(change, ruling)
        after[job.id] = _at_risk(change, ruling)
    return after


def asked_in_vain(changes: Mapping[str, Change], picture: Picture, decided: Round) -> dict[str, Change]:
    """The jobs on their way that asked again and were not given the promise, as they are to go on instead.

    A changed deadline is changed back. A promise that the present plan does not keep is broken. (A job whose curve
    has just been measured is a newcomer, and is declined like one.)
    """
    undone: dict[str, Change] = {}
    for job in picture.jobs:
        verdict = decided.verdicts.get(job.number)
        if job.number not in picture.asked_again or verdict is None or verdict.answer is Answer.ADMITTED:
            continue
        change = changes[job.id]
        old = change.job.contract
        if old is None or (old.promised is None and not verdict.refused):
            continue
        if old.promised is None or change.job.deadline != old.promised:
            undone[job.id] = _changed_back(change, old, verdict)
        else:
            undone[job.id] = change.promise(PromiseState.BROKEN, cause(change))
    return undone


def _changed_back(change: Change, old: Contract, verdict: Verdict) -> Change:
    asked = "no deadline" if change.job.deadline is None else rfc3339(change.job.deadline)
    kept = "without a deadline" if old.promised is None else f"with {rfc3339(old.promised)}"
    reason = f"{asked} cannot be promised ({verdict.why.value}); it goes on {kept}"
    return change.put(deadline=old.promised).tell("verdict", after=verdict.answer.value, reason=reason)


def _answered(change: Change, row: int, verdict: Verdict, ruling: Ruling) -> Change:
    """Give the answer; who is refused ends or waits, who is not goes on to get its slots."""
    job, before = change.job, change.job.contract
    if being_measured(job) and not verdict.refused:
        told = plan_measuring(job, change.at, ruling.picture.snapshot.cluster.total, ruling.learning)
    else:
        estimate = ruling.estimates.get(job.number)
        told = contract_of(ruling.picture, ruling.policy, row, verdict, estimate)
    change = change.put(contract=told).tell(
        "verdict",
        actor=ruling.actor,
        before="" if before is None else before.reply.value,
        after=told.reply.value,
        reason=told.message,
        data={"why": told.why, "promised": told.promised, "share": told.share},
    )
    if verdict.refused:
        return _refused(change, verdict, told, ruling.actor)
    if told.promised is not None:
        return change.promise(PromiseState.HOLDS, actor=ruling.actor)
    return change


def _refused(change: Change, verdict: Verdict, told: Contract, actor: str) -> Change:
    job = change.job
    if job.phase is P.SUBMITTED and job.why == "resumed":
        reason = f"cannot go on now: {told.message}"
        return change.put(pause=True).move(P.PAUSED, told.why, reason, actor)
    if verdict.answer is Answer.UNSCHEDULABLE and job.phase in (P.SUBMITTED, P.QUEUED):
        return change.move(P.UNSCHEDULABLE, told.why, told.message, actor)
    if job.phase in PLACED:
        return change.end(Ending(phase=P.DECLINED, why=told.why, message=told.message))
    return change.move(P.DECLINED, told.why, told.message, actor)


def _waits(change: Change, ruling: Ruling) -> Change:
    told = change.job.contract
    assert told is not None
    return change.move(P.QUEUED, told.why, told.message, ruling.actor)


def _placed(
    change: Change, row: int, action: Action | None, ruling: Ruling, taken: Collection[int]
) -> Change:
    """Give the job its slots, other slots, or none."""
    job, snap = change.job, ruling.picture.snapshot
    if job.ending is not None or job.phase not in PLACED | {P.SUBMITTED, P.QUEUED}:
        return change
    if action is None or action.kind is ActionKind.STOP:
        change = change.release().move(P.QUEUED, "preempted", "gave its slots to others; waits", ruling.actor)
        return _told_size(change, job, ruling)
    slots = ruling.picture.named(action.slots)
    if slots == job.slots:
        return change
    level = int(np.searchsorted(snap.sizes, len(action.slots)))
    cost = {
        ActionKind.START: snap.cost.start,
        ActionKind.RESIZE: snap.cost.rescale,
        ActionKind.MOVE: snap.cost.move,
    }[action.kind]
    staying, reconfigs = _going_over(job, ruling.restart_after)
    place = Place(slots, float(snap.rate[row, level]), change.at + float(cost[level]), staying)
    change = begin(change, place, ruling.nodes, ruling.seen, taken).put(reconfigs=reconfigs)
    phase = P.RESCALING if job.phase in PLACED else P.STARTING
    message = f"{'continues' if job.slots else 'starts'} on {allocation(slots)}"
    return _told_size(change.move(phase, action.kind.value, message, ruling.actor), job, ruling)


def _going_over(job: Job, restart_after: int) -> tuple[tuple[Member, ...], int]:
    """Who goes over in place to another size, and the how-manieth time that is since the job was last started."""
    if not job.members:
        return (), 0
    again = job.reconfigs + 1
    return ((), 0) if restart_after and again >= restart_after else (job.members, again)


def _told_size(change: Change, before: Job, ruling: Ruling) -> Change:
    actor, reason = _whose_doing(before, change.job, ruling.actor)
    return change.tell(
        "scaled",
        actor=actor,
        before=allocation(before.slots),
        after=allocation(change.job.slots),
        reason=reason,
        data={"workers": change.job.workers, "generation": change.job.generation},
    )


def _whose_doing(before: Job, after: Job, policy: str) -> tuple[str, str]:
    """Who is behind a change of slots, and why: a user, a failure, or the policy."""
    if not after.slots:
        return policy, "gave its slots to others"
    if not before.slots and before.why in SLOTS_TAKEN:
        return policy, before.message
    pin = before.pin
    if pin is not None and (pin.nodes or before.workers != pin.workers):
        user = before.actor or "a user"
        return user, f"pinned by {user}"
    return policy, "chosen by the policy"


def _at_risk(change: Change, ruling: Ruling) -> Change:
    """Compare the plan that is in force now with the promise."""
    job = change.job
    if job.promise not in OPEN_PROMISES or job.contract is None or job.contract.promised is None:
        return change
    promised = job.contract.promised - ruling.picture.epoch
    late = late_by_plan(ruling.round.memory, job.number, promised)
    if late and job.promise is PromiseState.HOLDS:
        others = [other for other in ruling.picture.jobs if other.pin is not None]
        return change.promise(PromiseState.AT_RISK, cause(change, others))
    if late is False and job.promise is PromiseState.AT_RISK:
        return change.promise(PromiseState.HOLDS)
    return change


def salvage(
    news: Mapping[str, Change], decided: Mapping[str, Change], stale: Mapping[str, Job | None]
) -> dict[str, Change]:
    """What can still be written when some jobs were changed meanwhile (`stale`: their records now; None if gone).

    Their own changes are dropped, and so is every placement on a slot that is still held because of that, until
    nothing more has to go. Whoever loses its placement keeps the news about it, and is decided anew.
    """
    result = {job: change for job, change in decided.items() if job not in stale}
    still_held = _slots(job for job in stale.values() if job is not None)
    while True:
        blocked = [
            job
            for job, change in result.items()
            if change is not news[job] and not still_held.isdisjoint(_slots([change.job]))
        ]
        if not blocked:
            return result
        for job in blocked:
            result[job] = news[job]
            still_held |= _slots([news[job].job])


def _slots(jobs: Iterable[Job]) -> set[tuple[str, int]]:
    return {(node, slot) for job in jobs for node, slots in job.slots.items() for slot in slots}
