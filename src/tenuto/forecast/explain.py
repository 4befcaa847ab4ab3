"""Why a job is as it is, in a few sentences: its state, what decides about it, and the cheapest change that would help.

A remedy is told only if the round, asked with that one change, would grant it; see `remedies`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import chain

from tenuto.forecast.ahead import FARTHEST
from tenuto.forecast.case import Case, called, counted, slots_of, told_eta, told_last_change
from tenuto.forecast.changes import admissible
from tenuto.forecast.dry_run import plan_for
from tenuto.forecast.rates import being_measured, next_to_measure
from tenuto.forecast.remedies import (
    Remedy,
    Trial,
    by_itself,
    by_leaving,
    by_offers,
    by_policy,
    by_slots,
)
from tenuto.forecast.unused import help_unused, told_unused
from tenuto.model.job import Contract, Job, Reply
from tenuto.model.node import NodeState
from tenuto.model.phase import ENDED, PLACED, Phase, PromiseState
from tenuto.wire.quantities import Unusable, moment

P = Phase


@dataclass(frozen=True, slots=True)
class Explanation:
    """What is told."""

    why: str
    """The decisive reason, for machines."""
    sentences: tuple[str, ...]
    holders: tuple[Job, ...] = ()
    """Who has the slots that are waited for."""
    remedies: tuple[Remedy, ...] = ()


def explain(case: Case) -> Explanation:
    """Tell why."""
    job = case.job
    if job.phase not in ENDED | {P.PAUSED} and (job.cancel or job.pause or job.ending is not None):
        return _ending(case)
    match job.phase:
        case P.SUBMITTED:
            return _unanswered(case)
        case P.HELD:
            return _held(case)
        case P.PAUSED:
            return _paused(case)
        case P.QUEUED | P.UNSCHEDULABLE:
            return _waiting(case)
        case P.STARTING | P.RUNNING | P.RESCALING:
            return _placed(case)
        case P.DECLINED:
            return _declined(case)
    return _ended(case)


def _ending(case: Case) -> Explanation:
    job = case.job
    what = "cancelled" if job.cancel else "paused" if job.pause else "ended"
    said = f"It is being {what}: its workers have been told to stop, and it waits until the last has gone."
    return Explanation("ending", (said, *_told(job.message)))


def _unanswered(case: Case) -> Explanation:
    around = case.around
    first = "It is stored and has no answer yet." + ("" if around.halted else " The next round answers it.")
    plan = plan_for(case.job, case.future, case.learning)
    answer = () if plan.contract is None else (f"Answered now, it would be {plan.contract.message}.",)
    return Explanation(
        around.halted or "no_answer_yet", (first, *_told(around.sentence), *answer), remedies=_do_halted(case)
    )


def _do_halted(case: Case) -> tuple[Remedy, ...]:
    doing = {
        "draining": Remedy("do", "start the platform again when it is down", "tenuto up"),
        "controller_stopped": Remedy("do", "start the platform again", "tenuto up"),
        "waits_for_nodes": Remedy(
            "do", "let more nodes join, or wait for fewer", "tenuto policy set --set wait_nodes=1"
        ),
        "policy_failed": Remedy("do", "choose another policy", "tenuto policy set elasticflow"),
    }
    return (doing[case.around.halted],) if case.around.halted in doing else ()


def _held(case: Case) -> Explanation:
    job, before = case.job, case.around.before
    if before is None:
        return Explanation("after", (job.message or "It waits for a job that is not there any more.",))
    fate = case.fates.get(before.id)
    done = (
        "" if fate is None or fate.eta.finish is None else f", expected to be done {case.at(fate.eta.finish)}"
    )
    condition = "" if job.spec.after is None else f" (condition: {job.spec.after.condition})"
    first = (_resume(before, f"let {called(before)} go on"),) if before.phase is P.PAUSED else ()
    return Explanation(
        "after",
        (f"It waits for {called(before)}{condition}, which is {before.phase}{done}.",),
        remedies=(*first, Remedy("do", "let it wait for nobody", f"tenuto update {job.id} --after none")),
    )


def _paused(case: Case) -> Explanation:
    job = case.job
    by = f" by {job.actor}" if job.actor else ""
    answer = admissible(case.scene, replace(job, phase=P.PAUSED), job.deadline, case.policy)
    said = (f"It was paused{by} and holds no slots.", f"Resumed now, it would be {answer.message}.")
    return Explanation(
        "paused",
        (*said, *_told(_other(job.message, said[0]))),
        remedies=(_resume(job), *_by_answer(case, answer)),
    )


def _resume(job: Job, said: str = "let it go on") -> Remedy:
    return Remedy("do", said, f"tenuto resume {job.id}")


def _beside(case: Case) -> Explanation:
    """A job that needs no slot: it waits for a place beside those of others."""
    setting = Remedy("do", "let nodes take more workers without a GPU: raise nodes.cpu_jobs in the settings")
    return Explanation(
        case.around.halted or case.job.why or str(case.job.phase),
        (*_told(case.around.sentence), *_told_message(case.job), *_told_answer(case.job)),
        remedies=_do_halted(case) or (setting,),
    )


def _told_message(job: Job) -> tuple[str, ...]:
    """What the record says, if the answer does not say it already."""
    told = "" if job.contract is None else job.contract.message
    return () if not job.message or job.message == told else (f"{job.message[:1].upper()}{job.message[1:]}.",)


def _waiting(case: Case) -> Explanation:
    job, around = case.job, case.around
    if job.spec.cpu_only:
        return _beside(case)
    unusable = case.unusable()
    why = around.halted or ("node_unusable" if unusable else _why_waiting(job))
    sentences = (
        *_told(around.sentence),
        *_told(unusable),
        *_slots_needed(case),
        *_who_has_them(case),
        *_promise(case),
        *_told_answer(job),
        *(() if job.why == "preempted" else _told_message(job)),
        *(told_last_change(case) if job.why in ("preempted", "shutting_down") else ()),
        *told_eta(case),
    )
    holders = () if job.phase is P.UNSCHEDULABLE else case.holders
    return Explanation(why, sentences, holders, _do_halted(case) or _helps(case))


def _why_waiting(job: Job) -> str:
    if job.phase is P.UNSCHEDULABLE:
        return "too_large"
    return "pinned" if job.pin is not None else "slots_taken"


def _helps(case: Case) -> tuple[Remedy, ...]:
    """What would let a waiting job begin."""
    job = case.job
    asks = replace(job, phase=P.SUBMITTED, contract=None) if job.phase is P.UNSCHEDULABLE else job
    trial = Trial(case.scene, asks, case.policy, promise=False)
    if trial.works():
        return (Remedy("do", "nothing need be done: the next round lets it begin"),)
    return tuple(
        chain(
            _undrain(case),
            by_itself(trial),
            by_slots(trial),
            by_leaving(trial),
            by_policy(trial, case.around.others),
        )
    )


def _undrain(case: Case) -> Iterable[Remedy]:
    draining = {node.name for node in case.scene.nodes if node.state is NodeState.DRAINING}
    allowed = draining if case.nodes_allowed is None else draining & case.nodes_allowed
    for name in sorted(allowed)[:1]:
        nodes = [
            replace(node, state=NodeState.ONLINE) if node.name == name else node for node in case.scene.nodes
        ]
        if Trial(case.scene, case.job, case.policy, promise=False).works(replace(case.scene, nodes=nodes)):
            yield Remedy(
                "node", f"with node {name} in use again, it would begin now", f"tenuto node undrain {name}"
            )


def _slots_needed(case: Case) -> tuple[str, ...]:
    job = case.job
    usable = sum(len(node.slots) for node in case.scene.nodes if node.state is NodeState.ONLINE)
    used = sum(slots_of(other) for other in case.scene.jobs if other.phase in PLACED)
    least = _least(job, usable)
    pinned = "" if job.pin is None else f" (pinned by {job.actor or 'a user'})"
    if least > usable:
        return (f"It needs {counted(least)}{pinned}, and the nodes in use have {usable}.",)
    idle = max(usable - used, 0)
    where = "" if case.nodes_allowed is None else f" on {', '.join(sorted(case.nodes_allowed))}"
    at_least = "to be measured there" if being_measured(job) else "at least"
    are = "is" if idle == 1 else "are"
    said = f"It waits for {counted(least)} {at_least}{where}{pinned}; {idle} of {usable} {are} idle"
    spare = idle >= least and case.nodes_allowed is None
    several = ", which are kept for promised jobs or do not lie together"
    kept = ", which is kept for a promised job" if idle == 1 else several
    return (f"{said}{kept if spare else ''}.",)


def _least(job: Job, usable: int) -> int:
    """The fewest slots that it can begin with."""
    if being_measured(job) and (size := next_to_measure(job, usable)):
        return size
    return job.spec.min_workers if job.pin is None else job.pin.workers


def _who_has_them(case: Case) -> tuple[str, ...]:
    if case.job.phase is P.UNSCHEDULABLE or not case.holders:
        return ()
    named = ", ".join(f"{called(job)} {counted(slots_of(job))}{_due(case, job)}" for job in case.holders)
    return (f"The largest holders: {named}.",)


def _due(case: Case, job: Job) -> str:
    contract = job.contract
    promised = contract.promised if contract is not None and job.promise is not PromiseState.BROKEN else None
    return "" if promised is None else f" (promised by {case.at(promised)})"


def _told_answer(job: Job) -> tuple[str, ...]:
    return () if job.contract is None else (f"It was answered: {_first(job.contract.message)}.",)


def _placed(case: Case) -> Explanation:
    job = case.job
    where = ",".join(f"{name}:{len(slots)}" for name, slots in sorted(job.places.items()))
    held = (
        counted(slots_of(job)) if job.slots else f"{counted(job.workers, 'place')} beside the slots of others"
    )
    doing = {P.STARTING: "It is starting on", P.RESCALING: "It is going over to"}.get(job.phase, "It runs on")
    pinned = (
        () if job.pin is None else (f"Its size is pinned to {job.pin.workers} by {job.actor or 'a user'}.",)
    )
    sentences = (
        f"{doing} {held}: {where}.",
        *told_unused(case),
        *_promise(case),
        *_reserved(case),
        *pinned,
        *told_last_change(case),
        *(_next_change(case) if job.slots else ()),
        *told_eta(case),
        *_told(case.around.sentence),
    )
    at_risk = job.promise is PromiseState.AT_RISK
    helps = (*(_promise_helps(case) if at_risk else ()), *help_unused(case))
    return Explanation(_why_placed(job), sentences, remedies=helps)


def _why_placed(job: Job) -> str:
    told = {PromiseState.AT_RISK: "at_risk", PromiseState.BROKEN: "broken"}
    return told.get(job.promise) or (str(job.phase) if job.idle_since is None else "idle")


def _promise(case: Case) -> tuple[str, ...]:
    job = case.job
    promised = None if job.contract is None else job.contract.promised
    if promised is None or job.promise is PromiseState.NONE:
        return ()
    said = f"Its promise, {case.at(promised)}, {_standing(job.promise)}"
    return (f"{said}: {job.breach}." if job.breach else f"{said}.",)


def _standing(promise: PromiseState) -> str:
    return {
        PromiseState.HOLDS: "holds",
        PromiseState.AT_RISK: "is at risk",
        PromiseState.BROKEN: "is broken",
        PromiseState.KEPT: "was kept",
        PromiseState.WITHDRAWN: "was withdrawn",
    }[promise]


def _reserved(case: Case) -> tuple[str, ...]:
    plan = case.reserved
    if not plan:
        return ()
    parts = ", ".join(f"{counted(part.slots)} until {case.at(part.end)}" for part in plan[:4])
    more = f", and {len(plan) - 4} more stretches" if len(plan) > 4 else ""
    return (f"Reserved for it: {parts}{more}.",)


def _next_change(case: Case) -> tuple[str, ...]:
    changes = () if case.row is None else case.future.seen.sizes.get(case.row, ())
    now = case.scene.now - case.scene.epoch
    later = [(at, slots) for at, slots in changes if now < at < now + FARTHEST]
    if not later:
        return ("No change of its size is foreseen.",)
    at, slots = later[0]
    return (f"Its size is foreseen to change {case.at(case.scene.epoch + at)}, to {counted(slots)}.",)


def _promise_helps(case: Case) -> tuple[Remedy, ...]:
    """What would save a promise that is at risk."""
    answer = admissible(case.scene, case.job, case.job.deadline, case.policy)
    return _by_answer(case, answer)


def _by_answer(case: Case, answer: Contract) -> tuple[Remedy, ...]:
    """What would turn a refusal of a deadline into a promise."""
    job = case.job
    if answer.reply is Reply.ADMITTED or answer.promised is not None or job.deadline is None:
        return ()
    trial = Trial(case.scene, job, case.policy, promise=True)
    return tuple(
        chain(
            by_offers(answer, job, case.scene.now),
            by_itself(trial),
            by_slots(trial),
            by_leaving(trial, answer.offers.in_the_way),
            by_policy(trial, case.around.others),
        )
    )


def _declined(case: Case) -> Explanation:
    job = case.job
    then = job.message if job.contract is None else job.contract.message
    deadline, again = _deadline_again(case)
    if job.deadline is None or deadline is None:
        late = () if job.deadline is None else (f"Its deadline, {case.at(job.deadline)}, has passed by now.",)
        return Explanation(
            job.why or "declined", (f"It was {then}.", *late), remedies=_again(job, "another deadline")
        )
    asking = replace(case, job=replace(job, deadline=deadline))
    answer = admissible(case.scene, asking.job, deadline, case.policy)
    yes = answer.reply in (Reply.ADMITTED, Reply.MEASURING)
    now = f"Submitted again now{again}, it would be {answer.message if yes else _first(answer.message)}."
    return Explanation(
        job.why or "declined",
        (f"It was {then}.", now),
        remedies=_again(job, "") if yes else _by_answer(asking, answer),
    )


def _deadline_again(case: Case) -> tuple[float | None, str]:
    """The deadline that it would have if it were submitted again: one such as +6h counts from now."""
    job, now = case.job, case.scene.now
    if job.deadline is not None and job.deadline > now and not job.spec.deadline.startswith("+"):
        return job.deadline, ""
    try:
        then = moment(job.spec.deadline, now)
    except Unusable:
        then = now
    return (then, f" (deadline {case.at(then)})") if then > now else (None, "")


def _again(job: Job, change: str) -> tuple[Remedy, ...]:
    if change:
        said = f"submit it again with {change}"
        return (Remedy("do", said, f"tenuto resubmit {job.id} --edit"),)
    return (Remedy("do", "submit it again", f"tenuto resubmit {job.id}"),)


def _ended(case: Case) -> Explanation:
    job = case.job
    done = job.phase is P.SUCCEEDED
    first = f"It has ended as {job.phase}, {case.at(job.ended_at)}" + (
        f": {job.message}." if job.message else "."
    )
    remedies: Sequence[Remedy] = ()
    if not done:
        logs = Remedy("do", "see what it printed", f"tenuto logs {job.id}")
        again = Remedy("do", "submit it again", f"tenuto resubmit {job.id}")
        remedies = (again,) if job.started_at is None else (logs, again)
    return Explanation(job.why or str(job.phase), (first, *_promise(case)), remedies=tuple(remedies))


def _first(message: str) -> str:
    """What an answer says before its estimates and offers, which stand elsewhere and are of today there."""
    return message.partition("; ")[0]


def _told(sentence: str) -> tuple[str, ...]:
    return (sentence,) if sentence else ()


def _other(message: str, said: str) -> str:
    """A record's message, unless it says nothing else."""
    return "" if not message or message in said or message.startswith("paused") else f"{message}."
