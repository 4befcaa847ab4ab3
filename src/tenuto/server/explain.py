"""Why a job is as it is, on request."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fastapi import APIRouter, Request

from tenuto.errors import Conflict, InputInvalid
from tenuto.model.event import Event
from tenuto.model.job import Job
from tenuto.server.circumstances import Circumstances, circumstances, policy_of
from tenuto.server.desk import Questions
from tenuto.server.jobs import Ref
from tenuto.server.platform import Here, Platform
from tenuto.server.scene import View, view
from tenuto.server.show import moment
from tenuto.store.base import EventQuery, Tx
from tenuto.wire.quantities import rfc3339
from tenuto.wire.questions import ExplainOut, ForeseenOut, HolderOut, RemedyOut

if TYPE_CHECKING:  # they load compiled kernels, which nobody shall wait for who asks for something else
    from tenuto.forecast.case import Case
    from tenuto.forecast.explain import Explanation
    from tenuto.policy.base import Policy

router = APIRouter(prefix="/jobs", tags=["questions"])
RECENT = 200
"""Changes of slots among which those of the same moment are looked for."""
TRIED = ("elasticflow", "edf-admission", "fifo", "themis")
"""Policies that are tried for whoever waits; all of them come with every installation."""


@router.get("/{ref}/explain", response_model=ExplainOut)
async def explain_job(here: Here, desk: Questions, request: Request, ref: Ref) -> ExplainOut:
    """Tell why a job is in its state, what decides about it, and what would help; nothing is changed."""
    return await desk.answer(request, lambda: _explained(here, ref))


@dataclass(frozen=True)
class _Looked:
    seen: View
    around: Circumstances
    before: Job | None
    scaled: Sequence[Event]
    names: dict[str, str]


def _look(here: Platform, tx: Tx, ref: str) -> _Looked:
    seen = view(here, tx, ref)
    assert seen.job is not None, "whoever names a job that is not there gets an error"
    after = seen.job.spec.after
    scaled = _scaled(tx, seen.job.id)
    jobs = {event.job: tx.job(event.job) for event in scaled}
    return _Looked(
        seen,
        circumstances(tx, here.settings.scheduling),
        None if after is None else tx.job(after.job),
        scaled,
        {id_: job.spec.name for id_, job in jobs.items() if job is not None},
    )


def _scaled(tx: Tx, job: str) -> list[Event]:
    """The last change of a job's slots, and those of others at the same moment."""
    own = tx.events(EventQuery(job=job, kind="scaled", limit=1, last=True))
    if not own:
        return []
    recent = tx.events(EventQuery(kind="scaled", after=max(own[0].id - RECENT, 0), limit=2 * RECENT))
    return [*own, *(event for event in recent if event.at == own[0].at and event.job != job)]


def _explained(here: Platform, ref: str) -> ExplainOut:
    from tenuto.forecast.case import Around, Case  # loads compiled kernels
    from tenuto.forecast.explain import explain

    looked = here.store.read(lambda tx: _look(here, tx, ref))
    seen = looked.seen
    assert seen.job is not None
    try:
        policy = policy_of(seen.rule)
    except Conflict as trouble:
        return _without_policy(seen.job, trouble, seen.now)
    around = Around(
        halted=looked.around.why,
        sentence=looked.around.sentence,
        before=looked.before,
        scaled=looked.scaled,
        names=looked.names,
        others=_others(policy),
    )
    case = Case(seen.scene(policy), seen.job, policy, seen.past, here.settings.learning, around)
    return _shown(case, explain(case))


def _without_policy(job: Job, trouble: Conflict, now: float) -> ExplainOut:
    """What can be told if nobody can decide: all jobs keep what they have."""
    message = (job.message,) if job.message else ()
    return ExplainOut(
        id=job.id,
        name=job.spec.name,
        state=str(job.phase),
        why="policy_failed",
        sentences=[f"Nothing is decided: {trouble.problem}.", *message],
        holds={name: list(slots) for name, slots in job.slots.items()},
        reserved=[],
        foreseen=[],
        eta=ForeseenOut(),
        in_the_way=[],
        remedies=[
            RemedyOut(kind="do", sentence="choose another policy", command="tenuto policy set elasticflow")
        ],
        as_of=rfc3339(now),
    )


def _others(policy: Policy) -> list[Policy]:
    from tenuto.plugins import lack, policy_called

    found = []
    for name in TRIED:
        try:
            other = policy_called(name)
        except InputInvalid:
            continue
        if other.name != policy.name and lack(other) is None:
            found.append(other)
    return found


def _shown(case: Case, told: Explanation) -> ExplainOut:
    from tenuto.forecast.case import slots_of
    from tenuto.server.foreseen import shown_fate_eta, shown_stretches

    job = case.job
    return ExplainOut(
        id=job.id,
        name=job.spec.name,
        state=str(job.phase),
        why=told.why,
        sentences=list(told.sentences),
        holds={name: list(slots) for name, slots in job.slots.items()},
        reserved=shown_stretches(case.reserved),
        foreseen=shown_stretches(case.foreseen),
        eta=shown_fate_eta(case.fate),
        in_the_way=[
            HolderOut(
                id=holder.id,
                name=holder.spec.name,
                slots=slots_of(holder),
                promised=moment(None if holder.contract is None else holder.contract.promised),
                finish=shown_fate_eta(case.fates.get(holder.id)).finish,
            )
            for holder in told.holders
        ],
        remedies=[
            RemedyOut(kind=one.kind, sentence=one.sentence, command=one.command) for one in told.remedies
        ],
        as_of=rfc3339(case.scene.now),
    )
