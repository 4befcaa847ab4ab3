"""What if: the live state with something changed in thought, and what that would do to everybody."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from fastapi import APIRouter, Request

from tenuto.errors import Conflict, InputInvalid
from tenuto.model.job import Job, Reply
from tenuto.model.node import Node, NodeState
from tenuto.server import wishes
from tenuto.server.circumstances import circumstances, policy_of
from tenuto.server.deadlines import GIVES_NONE, must_be_asked
from tenuto.server.desk import Questions
from tenuto.server.find import job_called, node_called
from tenuto.server.large_bodies import BodyRoute
from tenuto.server.platform import Here, Platform, Who
from tenuto.server.policy import wished
from tenuto.server.scene import Rule, View, view
from tenuto.server.thoughts import Thought, thoughts
from tenuto.server.wishes import Asker
from tenuto.store.base import Tx
from tenuto.wire.asks import PolicyIn
from tenuto.wire.quantities import Unusable, duration, rfc3339
from tenuto.wire.quantities import deadline as moment_ahead
from tenuto.wire.questions import PolicyThought, RefusalOut, SidesOut, WhatIfIn, WhatIfOut

if TYPE_CHECKING:  # they load compiled kernels, which nobody shall wait for who asks for something else
    from tenuto.forecast.picture import Scene
    from tenuto.forecast.whatif import Differences
    from tenuto.policy.base import Policy

router = APIRouter(tags=["questions"], route_class=BodyRoute)


@router.post("/whatif", response_model=WhatIfOut)
async def what_if(here: Here, who: Who, desk: Questions, request: Request, asked: WhatIfIn) -> WhatIfOut:
    """Tell what changes would do to every promise and every ETA; nothing is changed."""
    return await desk.answer(request, lambda: _answered(here, who, asked))


@dataclass(frozen=True)
class _Meant:
    """A question, with everything that it names looked up."""

    asked: WhatIfIn
    seen: View
    lose: Sequence[Node]
    cancel: Sequence[Job]
    due: Sequence[tuple[Job, float | None]]
    remarks: Sequence[str]


@dataclass
class _After:
    """The changed world while it is being made."""

    scene: Scene
    policy: Policy
    told: list[str] = field(default_factory=list)
    refused: list[RefusalOut] = field(default_factory=list)
    lost: frozenset[str] = frozenset()


def _answered(here: Platform, who: str, asked: WhatIfIn) -> WhatIfOut:
    from tenuto.forecast.ahead import FOR_A_QUESTION  # loads compiled kernels
    from tenuto.forecast.dry_run import plan_for
    from tenuto.forecast.future import foresee
    from tenuto.forecast.whatif import differences
    from tenuto.server.foreseen import shown_plan

    meant = here.store.read(lambda tx: _meant(here, tx, asked))
    new = thoughts(here, Asker(who, meant.seen.now), asked.add, "add")
    policy = policy_of(meant.seen.rule)
    before = foresee(meant.seen.scene(policy), policy, meant.seen.past, FOR_A_QUESTION)
    world = _changed(meant, new)
    after = foresee(world.scene, world.policy, meant.seen.past, FOR_A_QUESTION)
    ids = [one.job.id for one in new]
    return _told(
        meant,
        differences(before, after, lost=world.lost, leave_out=ids, everybody=asked.all),
        changes=world.told,
        refused=world.refused,
        policy=SidesOut(before=policy.name, after=world.policy.name),
        slots={"before": _usable(meant.seen.nodes), "after": _usable(world.scene.nodes)},
        added=[shown_plan(one, plan_for(one.job, after, here.settings.learning)) for one in new],
        exact=before.exact and after.exact,
    )


def _told(meant: _Meant, compared: Differences, **told: object) -> WhatIfOut:
    from tenuto.server.foreseen import shown_difference

    found, limit = compared.found, meant.asked.limit
    really = {job.id: job for job in meant.seen.jobs}
    return WhatIfOut(
        as_of=rfc3339(meant.seen.now),
        jobs=[shown_difference(replace(one, job=really[one.job.id])) for one in found[:limit]],
        more=max(len(found) - limit, 0),
        counts=Counter(str(one.effect) for one in found) | {"none": compared.unchanged},
        remarks=list(meant.remarks),
        **told,  # type: ignore[arg-type]  # what `_answered` has worked out
    )


def _usable(nodes: Iterable[Node]) -> int:
    return sum(len(node.slots) for node in nodes if node.state is NodeState.ONLINE)


# what is meant


def _meant(here: Platform, tx: Tx, asked: WhatIfIn) -> _Meant:
    around = circumstances(tx, here.settings.scheduling)
    now = here.clock()
    return _Meant(
        asked,
        view(here, tx),
        lose=[_there(node_called(tx, name)) for name in dict.fromkeys(asked.lose)],
        cancel=list({job.id: job for job in (_alive(tx, ref) for ref in asked.cancel)}.values()),
        due=[_due(_alive(tx, ref), written, now) for ref, written in asked.deadlines.items()],
        remarks=[around.sentence] if around.why else [],
    )


def _there(node: Node) -> Node:
    if node.state is NodeState.OFFLINE:
        raise Conflict(
            f"node {node.name} is lost already",
            code="node_offline",
            remedy="Name one that is there: tenuto node ls",
            field="lose",
        )
    return node


def _alive(tx: Tx, ref: str) -> Job:
    job = job_called(tx, ref)
    wishes.not_ended(job)
    wishes.not_cancelled(job)
    return job


def _due(job: Job, written: str | None, now: float) -> tuple[Job, float | None]:
    """When a deadline would be: `+2h` is two hours after the present one."""
    where = f"deadlines.{job.spec.name}"
    if written is None:
        return job, None
    try:
        if not written.strip().startswith("+"):
            return job, moment_ahead(written, now)
        later = duration(written.strip()[1:])
    except Unusable as error:
        raise InputInvalid(error.problem, remedy=error.remedy, field=where) from None
    if job.deadline is None:
        raise InputInvalid(
            f"job {job.id} ({job.spec.name}) has no deadline that could be {written} later",
            remedy="Give a date, such as 2030-11-20T18:00+01:00",
            field=where,
        )
    return job, max(job.deadline + later, now + 1.0)


# the changed world


def _changed(meant: _Meant, new: Sequence[Thought]) -> _After:
    """Nodes first, then jobs that leave, other deadlines, and at last new jobs."""
    rule = meant.seen.rule if meant.asked.policy is None else _rule(meant.seen.rule, meant.asked.policy)
    policy = rule.policy()
    world = _After(meant.seen.with_rule(rule).scene(policy), policy)
    if meant.asked.policy is not None:
        world.told.append(_told_policy(meant, policy))
    _move_nodes(meant, world)
    _take_jobs_out(meant, world)
    for job, deadline in meant.due:
        _ask_for_deadline(world, job, deadline)
    world.scene = replace(world.scene, jobs=[*world.scene.jobs, *(one.job for one in new)])
    world.told += [f"{one.job.spec.name} is submitted" for one in new]
    return world


def _rule(now: Rule, thought: PolicyThought) -> Rule:
    try:
        return wished(now, PolicyIn(name=thought.name, settings=thought.settings))
    except InputInvalid as error:
        raise InputInvalid(error.problem, remedy=error.remedy, field=f"policy.{error.field}") from None


def _told_policy(meant: _Meant, policy: Policy) -> str:
    thought = meant.asked.policy
    settings = (
        "" if thought is None else ", ".join(f"{key}={value}" for key, value in thought.settings.items())
    )
    with_settings = f" with {settings}" if settings else ""
    return f"the policy is {policy.name}{with_settings} (now {meant.seen.rule.scheduling.policy})"


def _move_nodes(meant: _Meant, world: _After) -> None:
    from tenuto.forecast.whatif import as_nodes, with_nodes, without_nodes

    if meant.lose:
        loss = without_nodes(world.scene, [node.name for node in meant.lose])
        world.scene, world.lost = loss.scene, loss.lost
        world.told += [f"{node.name} is lost ({_slots(len(node.slots))})" for node in meant.lose]
    sizes = [nodes.slots for nodes in meant.asked.add_nodes for _ in range(nodes.count)]
    if meant.asked.add_slots:
        sizes += as_nodes(world.scene, meant.asked.add_slots)
    if sizes:
        world.scene = with_nodes(world.scene, sizes)
        nodes = "1 more node joins" if len(sizes) == 1 else f"{len(sizes)} more nodes join"
        world.told.append(f"{nodes}, with {_slots(sum(sizes))}{'' if len(sizes) == 1 else ' together'}")


def _take_jobs_out(meant: _Meant, world: _After) -> None:
    from tenuto.forecast.whatif import without_jobs

    world.scene = without_jobs(world.scene, {job.id for job in meant.cancel})
    world.told += [f"{_called(job)} is cancelled" for job in meant.cancel]


def _ask_for_deadline(world: _After, job: Job, deadline: float | None) -> None:
    """Give a job another deadline, if that would be granted."""
    from tenuto.forecast.changes import admissible
    from tenuto.forecast.whatif import with_deadline

    if deadline is not None and must_be_asked(job, deadline):
        answer = admissible(world.scene, job, deadline, world.policy)
        if answer.reply is not Reply.ADMITTED and answer.why != GIVES_NONE:
            said = answer.message.removeprefix(f"{answer.reply}: ")
            world.refused.append(RefusalOut(job=job.id, message=f"{_called(job)}: {said}"))
            return
    world.scene = with_deadline(world.scene, job.id, deadline)
    now = "none now" if job.deadline is None else f"now {rfc3339(job.deadline)}"
    then = "taken away" if deadline is None else rfc3339(deadline)
    world.told.append(f"the deadline of {_called(job)} is {then} ({now})")


def _called(job: Job) -> str:
    return f"{job.spec.name} ({job.id})"


def _slots(count: int) -> str:
    return f"{count} slot" if count == 1 else f"{count} slots"
