"""What a job would be answered, where it would begin, and whom it would move."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.forecast.records import NOW, a_node, a_record, a_scene, answered

from tenuto.forecast.dry_run import DryRun, dry_run
from tenuto.forecast.picture import Scene
from tenuto.forecast.stretch import Stretch
from tenuto.forecast.whatif import Effect
from tenuto.model.job import Job, Reply
from tenuto.model.phase import Phase
from tenuto.policy.base import Policy
from tenuto.policy.registry import POLICIES
from tenuto.settings import Learning

ELASTICFLOW, CHRONUS, FIFO = POLICIES["elasticflow"], POLICIES["chronus-greedy"], POLICIES["fifo"]


def planned(scene: Scene, *new: Job, policy: Policy = ELASTICFLOW) -> DryRun:
    return dry_run(scene, new, policy, {}, Learning())


def test_a_promise_comes_with_its_slots_its_place_and_its_times() -> None:
    [plan] = planned(a_scene(), a_record(1, deadline=NOW + 60.0)).plans

    assert plan.contract is not None and plan.contract.reply is Reply.ADMITTED
    assert plan.place == {"node-0": (0, 1, 2, 3)}
    assert plan.reserved == (Stretch(NOW, NOW + 50.0, 2),)
    assert plan.foreseen == (Stretch(NOW, NOW + 25.0, 4),)
    assert (plan.eta.start, plan.eta.finish) == (NOW, NOW + 25.0)


def test_others_that_would_be_done_later_are_named() -> None:
    scene = answered(a_scene([a_record(1)]), ELASTICFLOW)

    found = planned(scene, a_record(2, deadline=NOW + 30.0))

    [moved] = found.moved
    assert (moved.job.id, moved.effect) == ("job-0001", Effect.LATER)
    assert moved.before is not None and moved.before.eta.finish == NOW + 25.0
    assert moved.after is not None and moved.after.eta.finish == NOW + 50.0


def test_a_refusal_has_counter_offers_and_no_place() -> None:
    [plan] = planned(a_scene(), a_record(1, deadline=NOW + 10.0)).plans

    assert plan.contract is not None and plan.contract.reply is Reply.DECLINED
    assert plan.contract.offers.earliest is not None
    assert (plan.place, plan.foreseen, plan.reserved, plan.eta.finish) == (None, (), (), None)


def test_jobs_are_answered_together_in_their_order() -> None:
    both = [a_record(number, deadline=NOW + 26.0) for number in (1, 2)]

    replies = [plan.contract and plan.contract.reply for plan in planned(a_scene(), *both).plans]

    assert replies == [Reply.ADMITTED, Reply.DECLINED]


def test_a_job_that_waits_for_another_gets_no_answer_yet() -> None:
    [plan] = planned(a_scene(), a_record(1, phase=Phase.HELD)).plans

    assert plan.contract is None


def test_a_job_of_unknown_speed_would_be_measured_first() -> None:
    unknown = a_record(1, spec={"auto": True}, curve={}, deadline=NOW + 600.0)

    [plan] = planned(a_scene(), unknown).plans

    assert plan.contract is not None and plan.contract.reply is Reply.MEASURING
    assert plan.contract.firm_at == NOW + 3 * Learning().patience
    assert plan.place is not None
    assert plan.eta.finish is None


def test_without_a_promise_the_foreseen_slots_are_told() -> None:
    first = answered(a_scene([a_record(1)]), FIFO)

    [plan] = planned(first, a_record(2), policy=FIFO).plans

    assert plan.reserved == ()
    assert plan.foreseen == (Stretch(NOW + 25.0, NOW + 50.0, 4),)
    assert plan.place is None


def test_leases_are_told_as_stretches() -> None:
    [plan] = planned(a_scene(), a_record(1, deadline=NOW + 9000.0), policy=CHRONUS).plans

    assert plan.contract is not None and plan.contract.reply is Reply.ADMITTED
    assert [part.slots for part in plan.reserved] == [4]


@pytest.mark.parametrize("due", [26.0, 100.0, 5.0, None])
def test_the_next_round_gives_the_same_answer(due: float | None) -> None:
    scene = answered(
        a_scene([a_record(1, deadline=NOW + 60.0), a_record(2)], [a_node(0), a_node(1)]), ELASTICFLOW
    )
    new = a_record(3, deadline=None if due is None else NOW + due)

    [plan] = planned(scene, new).plans
    really = [
        job for job in answered(replace(scene, jobs=[*scene.jobs, new]), ELASTICFLOW).jobs if job.number == 3
    ]

    assert plan.contract is not None
    assert [job.contract.promised for job in really if job.contract] == (
        [] if plan.contract.reply is Reply.DECLINED else [plan.contract.promised]
    )
    assert [dict(job.slots) for job in really] == (
        [] if plan.contract.reply is Reply.DECLINED else [dict(plan.place or {})]
    )
