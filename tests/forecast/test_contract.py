"""The answer to a submission is a sentence that a user can act on."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.forecast.records import NOW, a_node, a_record, a_scene, answered

from tenuto.forecast.ahead import expected
from tenuto.forecast.contract import contract_of, estimated_anew, written
from tenuto.forecast.picture import Scene, picture
from tenuto.model.job import Contract, Job, Reply
from tenuto.model.phase import PromiseState
from tenuto.policy.base import Policy
from tenuto.policy.registry import POLICIES
from tenuto.rounds.round import run_round

ELASTICFLOW, FIFO, CHRONUS = POLICIES["elasticflow"], POLICIES["fifo"], POLICIES["chronus-greedy"]
# NOW is 2025-06-15T15:23:20Z.


def told(newcomer: Job, policy: Policy = ELASTICFLOW, scene: Scene | None = None) -> Contract:
    """The contract of a newcomer, with an estimate."""
    scene = a_scene() if scene is None else scene
    taken = picture(replace(scene, jobs=[*scene.jobs, newcomer], promises=policy.promises))
    row = taken.row_of(newcomer.number)
    assert row is not None
    verdict = run_round(taken.snapshot, policy).verdicts[newcomer.number]
    return contract_of(taken, policy, row, verdict, expected(taken.snapshot, policy, [row]).get(row))


def test_an_admitted_job_is_told_its_finish_and_its_reservation() -> None:
    contract = told(a_record(1, deadline=NOW + 200.0))

    assert contract == Contract(
        reply=Reply.ADMITTED,
        why="fits",
        message="admitted: finishes by 2025-06-15T15:26:40Z; 1 slot reserved, expected finish 2025-06-15T15:25:00Z",
        answered_at=NOW,
        promised=NOW + 200.0,
        expected=NOW + 100.0,
        share=1,
    )


def test_a_declined_job_is_told_what_could_be_had_instead() -> None:
    scene = answered(a_scene([a_record(1, deadline=NOW + 100.0015, spec={"steps": 400.0})]), ELASTICFLOW)

    contract = told(a_record(2, deadline=NOW + 120.0), scene=scene)

    assert contract.reply is Reply.DECLINED
    assert contract.why == "deadline_infeasible"
    assert contract.promised is None and contract.expected is None
    assert contract.message == (
        "declined: 2025-06-15T15:25:20Z cannot be promised; "
        "the earliest deadline that can be promised now is 2025-06-15T15:25:26Z; "
        "79 steps would fit; in the way: 학습 (job-0001)"
    )
    assert contract.offers.in_the_way == ("job-0001",)


def test_a_job_counted_in_epochs_is_told_epochs() -> None:
    job = a_record(1, deadline=NOW + 1.0, spec={"steps": None, "epochs": 8.0}, left=8.0)

    assert "3.99 epochs would fit" in told(job).message


def test_a_job_without_a_deadline_is_told_that_it_uses_what_is_left() -> None:
    contract = told(a_record(1))

    assert contract.reply is Reply.QUEUED
    assert contract.message == (
        "queued: has no deadline, runs on what the promised jobs leave; estimated finish 2025-06-15T15:23:45Z"
    )
    assert contract.expected == NOW + 25.0


def test_a_policy_without_promises_says_so() -> None:
    assert told(a_record(1), FIFO).message == (
        "queued: no promise is given by policy fifo; estimated finish 2025-06-15T15:23:45Z"
    )
    late = told(a_record(1, deadline=NOW + 20.0), FIFO)
    assert late.message == (
        "queued: no promise is given by policy fifo; estimated finish 2025-06-15T15:23:45Z, after its deadline"
    )
    assert late.promised is None


def test_a_job_of_unknown_length_has_no_estimate() -> None:
    contract = told(a_record(1, spec={"steps": None}), FIFO)

    assert contract.message == "queued: no promise is given by policy fifo; its finish cannot be estimated"
    assert contract.expected is None


def test_a_deadline_without_room_may_still_wait_under_a_policy_that_lets_it() -> None:
    contract = told(a_record(1, deadline=NOW + 100.0, spec={"preferred": 1}), CHRONUS)

    assert contract.reply is Reply.QUEUED
    assert contract.why == "no_room_for_promise"
    assert contract.message.startswith(
        "queued: 2025-06-15T15:25:00Z cannot be promised, so it runs on what is left over; "
        "the earliest deadline that can be promised now is "
    )


def test_a_job_that_no_cluster_of_today_can_run_is_told_what_is_missing() -> None:
    large: dict[str, Any] = {"min_workers": 8, "max_workers": 16}
    contract = told(a_record(1, spec=large, curve={8: 1.0}))
    assert contract.reply is Reply.UNSCHEDULABLE
    assert contract.message == (
        "unschedulable: needs 8 slots, the cluster has 4; asked again when nodes join"
    )

    scene = a_scene(nodes=[a_node(0, 8), a_node(1, 2)])
    bound = told(a_record(1, spec={"min_workers": 4, "node": "node-1"}), scene=scene)
    assert bound.message == (
        "unschedulable: needs 4 slots on node node-1, which cannot give them; asked again when nodes change"
    )


def test_times_are_written_as_precisely_as_they_are_needed() -> None:
    assert written(NOW + 3599.0, NOW) == "2025-06-15T16:23:19Z"
    assert written(NOW + 3600.0, NOW) == "2025-06-15T16:23Z"
    assert written(1e15, NOW) == "after the year 9999"


def test_an_answer_is_a_promise_in_the_record_only_if_it_says_so() -> None:
    scene = answered(a_scene([a_record(1, deadline=NOW + 200.0), a_record(2)]), ELASTICFLOW)

    assert [job.promise for job in scene.jobs] == [PromiseState.HOLDS, PromiseState.NONE]


def test_an_answer_says_which_curve_it_rests_on_if_its_owner_gave_none() -> None:
    known = replace(a_record(1, deadline=NOW + 200.0), curve_from="measured by earlier runs of 학습")

    assert told(known).message.endswith("; its curve: measured by earlier runs of 학습")
    assert "its curve" not in told(replace(known, deadline=None)).message


def test_an_estimate_can_be_made_anew_and_a_promise_stays_as_it_was_given() -> None:
    estimate = told(a_record(1))
    promise = told(a_record(1, deadline=NOW + 200.0))

    anew = estimated_anew(estimate, NOW, NOW + 60.0)

    assert anew.expected == NOW + 60.0
    assert anew.message.endswith("; estimated finish 2025-06-15T15:24:20Z")
    assert estimated_anew(promise, NOW, NOW + 60.0) == promise
