"""From a round to new records: contracts, places, generations, progress; and what to give up if some jobs changed.

Pure: values in, values out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from tenuto.engines.base import Observation
from tenuto.forecast.contract import contract_of
from tenuto.forecast.eta import Eta, etas_seen, look
from tenuto.forecast.measuring import plan_measuring
from tenuto.forecast.offers import REFUSALS
from tenuto.forecast.picture import Picture
from tenuto.forecast.rates import being_measured
from tenuto.forecast.spread import Past
from tenuto.live.change import CONTROLLER, Change, allocation
from tenuto.live.foretell import foretold, to_foretell
from tenuto.live.generation import Place, begin
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
MOST_OFFERED, ROWS_OFFERED = 20, 3000
"""Refused newcomers of one round for whom offers are sought, and how many times all live jobs may be looked at for it;
but one always gets them."""


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
    past: Past = field(default_factory=dict)
    """How far forecasts were off so far."""

    @property
    def actor(self) -> str:
        """Who decided."""
        return f"policy:{self.policy.name}"

    @cached_property
    def forecasts(self) -> Mapping[int, Eta]:
        """When those will be done who are answered or first get slots in this round, by number."""
        rows = {job.number: row for row, job in enumerate(self.picture.jobs)}
        news = to_foretell({job.number: job for job in self.picture.jobs}, self.round)
        if not news:
            return {}
        wanted = sorted(rows[number] for number in news)
        seen = look(self.picture.snapshot, self.policy, wanted, self.round)
        found = etas_seen(self.picture, seen, self.past, wanted)
        return {self.picture.jobs[row].number: found[self.picture.jobs[row].id] for row in wanted}

    @cached_property
    def offered(self) -> frozenset[int]:
        """For whom of those who get no promise it is found out what could be had instead: nobody shall wait long."""
        most = max(1, min(MOST_OFFERED, ROWS_OFFERED // max(len(self.picture.jobs), 1)))
        refused = (number for number, verdict in self.round.verdicts.items() if verdict.why in REFUSALS)
        return frozenset(sorted(refused)[:most])


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
        answered = verdict is not None and not verdict.refused
        change = foretold(change, ruling.forecasts.get(job.number), answered=answered)
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
        eta = ruling.forecasts.get(job.number)
        finish = None if eta is None or eta.finish is None else eta.finish - ruling.picture.epoch
        offering = job.number in ruling.offered
        told = contract_of(ruling.picture, ruling.policy, row, verdict, finish, offering=offering)
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
    if slots == job.seats:  # those whose guest it was have gone
        change = change.keep_seats().put(message=f"runs on {allocation(slots)}, now its own")
        return _told_size(change, job, ruling)
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
    message = f"{'continues' if job.places else 'starts'} on {allocation(slots)}"
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
        before=allocation(before.places),
        after=allocation(change.job.places),
        reason=reason,
        data={"workers": change.job.workers, "generation": change.job.generation},
    )


def _whose_doing(before: Job, after: Job, policy: str) -> tuple[str, str]:
    """Who is behind a change of slots, and why: a user, a failure, or the policy."""
    if not after.slots:
        return policy, "gave its slots to others"
    if not before.places and before.why in SLOTS_TAKEN:
        return policy, before.message
    pin = before.pin
    if pin is not None and (pin.nodes or before.workers != pin.workers):
        user = before.actor or "a user"
        return user, f"pinned by {user}"
    if before.shrunk and after.workers < before.workers:
        return CONTROLLER, "shrunk to its least size, since it does not use its GPUs"
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
) -> Mapping[str, Change]:
    """What can still be written when some jobs were changed meanwhile (`stale`: their records now; None if gone).

    Their own changes are dropped, and so is every placement on a slot that is still held because of that, until
    nothing more has to go. Whoever loses its placement keeps the news about it, and is decided anew.
    """
    if not stale:
        return decided
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
    """The slots that jobs are on; places without GPUs have numbers below those of slots."""
    return {
        (node, ~number if job.spec.cpu_only else number)
        for job in jobs
        for node, numbers in job.places.items()
        for number in numbers
    }
