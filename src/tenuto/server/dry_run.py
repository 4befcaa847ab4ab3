"""Dry runs: the whole answer to jobs that are not submitted."""

from __future__ import annotations

from fastapi import APIRouter, Request

from tenuto.server.circumstances import WAITS_FOR_NODES, Circumstances, circumstances, policy_of
from tenuto.server.desk import Questions
from tenuto.server.large_bodies import BodyRoute
from tenuto.server.platform import Here, Platform, Who
from tenuto.server.scene import View, view
from tenuto.server.thoughts import thoughts, unanswered
from tenuto.server.wishes import Asker
from tenuto.store.base import Tx
from tenuto.wire.quantities import rfc3339
from tenuto.wire.questions import PlanIn, PlanOut

router = APIRouter(tags=["questions"], route_class=BodyRoute)
MOST_MOVED = 20
"""Other jobs that are told of; the rest is counted."""


@router.post("/plan", response_model=PlanOut)
async def plan_jobs(here: Here, who: Who, desk: Questions, request: Request, asked: PlanIn) -> PlanOut:
    """Answer jobs as if they were submitted now; nothing is stored."""
    return await desk.answer(request, lambda: _planned(here, who, asked))


def _planned(here: Platform, who: str, asked: PlanIn) -> PlanOut:
    from tenuto.forecast.dry_run import dry_run  # loads compiled kernels
    from tenuto.server.foreseen import shown_difference, shown_plan

    seen, around = here.store.read(lambda tx: _look(here, tx))
    new = thoughts(here, Asker(who, seen.now), asked.jobs, "jobs")
    policy = policy_of(seen.rule)
    if around.why == WAITS_FOR_NODES:
        new = [unanswered(one, around.sentence) for one in new]
    found = dry_run(seen.scene(policy), [one.job for one in new], policy, seen.past, here.settings.learning)
    return PlanOut(
        as_of=rfc3339(seen.now),
        policy=policy.name,
        jobs=[shown_plan(*pair) for pair in zip(new, found.plans, strict=True)],
        moved=[shown_difference(one) for one in found.moved[:MOST_MOVED]],
        moved_more=max(len(found.moved) - MOST_MOVED, 0),
        exact=found.exact,
        remarks=[around.sentence] if around.why else [],
    )


def _look(here: Platform, tx: Tx) -> tuple[View, Circumstances]:
    return view(here, tx), circumstances(tx, here.settings.scheduling)
