"""Before a wish is written it is known which promises it would break."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.forecast.records import NOW, a_contract, a_node, a_record, a_scene, answered

from tenuto.forecast.changes import Breach, admissible, breaches
from tenuto.forecast.picture import Scene
from tenuto.model.job import Job, Pin, Reply
from tenuto.model.node import NodeState
from tenuto.model.phase import Phase, PromiseState
from tenuto.policy.registry import POLICIES

ELASTICFLOW, EDF_ADMISSION, FIFO = POLICIES["elasticflow"], POLICIES["edf-admission"], POLICIES["fifo"]


def two_promised() -> Scene:
    """Four slots; job 1 needs all of them for 25 seconds, then job 2 does."""
    jobs = [a_record(1, deadline=NOW + 26.0), a_record(2, deadline=NOW + 55.0, spec={"preferred": 1})]
    return answered(a_scene(jobs), ELASTICFLOW)


def changed(scene: Scene, number: int, **wishes: object) -> Scene:
    def wish(job: Job) -> Job:
        return replace(job, **wishes) if job.number == number else job  # type: ignore[arg-type]

    return replace(scene, jobs=[wish(job) for job in scene.jobs])


def test_nothing_breaks_if_nothing_changes() -> None:
    scene = two_promised()

    assert [job.promise for job in scene.jobs] == [PromiseState.HOLDS] * 2
    assert breaches(scene, scene, ELASTICFLOW) == ()


def test_a_pin_that_is_too_small_breaks_the_jobs_own_promise() -> None:
    scene = two_promised()

    found = breaches(scene, changed(scene, 1, pin=Pin(workers=2)), ELASTICFLOW)

    assert found == (Breach("job-0001", "학습", NOW + 26.0, NOW + 62.5),)


def test_a_pin_that_leaves_room_for_all_promises_breaks_none() -> None:
    scene = two_promised()
    waiting = a_record(3, phase=Phase.QUEUED, contract=a_contract(Reply.QUEUED))
    scene = replace(scene, jobs=[*scene.jobs, waiting])

    assert breaches(scene, changed(scene, 3, pin=Pin(workers=4)), ELASTICFLOW) == ()
    assert breaches(scene, changed(scene, 1, pin=Pin(workers=4)), ELASTICFLOW) == ()


def test_draining_a_node_breaks_what_needs_it() -> None:
    narrow = {"max_workers": 2}
    jobs = [a_record(number, deadline=NOW + 55.0, spec=narrow) for number in (1, 2)]
    scene = answered(a_scene(jobs, [a_node(0, 2), a_node(1, 2), a_node(2, 1)]), ELASTICFLOW)

    def drained(number: int) -> Scene:
        nodes = [
            replace(node, state=NodeState.DRAINING) if node.number == number else node for node in scene.nodes
        ]
        return replace(scene, nodes=nodes)

    assert len(breaches(scene, drained(0), ELASTICFLOW)) == 1
    assert breaches(scene, drained(2), ELASTICFLOW) == ()


def test_a_policy_without_promises_breaks_those_that_it_would_make_late() -> None:
    scene = two_promised()
    scene = answered(replace(scene, jobs=[*scene.jobs, a_record(3, deadline=NOW + 9999.0)]), ELASTICFLOW)

    assert breaches(scene, scene, ELASTICFLOW, EDF_ADMISSION) == ()
    found = breaches(scene, scene, ELASTICFLOW, FIFO)
    assert found == (Breach("job-0002", "학습", NOW + 55.0, NOW + 125.0),)


def test_a_promise_that_is_lost_already_is_not_blamed_on_the_change() -> None:
    scene = two_promised()
    late = replace(scene.jobs[0], progress=replace(scene.jobs[0].progress, left=5000.0))
    scene = replace(scene, jobs=[late, scene.jobs[1]])

    found = breaches(scene, changed(scene, 1, pin=Pin(workers=2)), ELASTICFLOW)

    assert "job-0001" not in [breach.job for breach in found]


def test_a_job_that_leaves_by_the_change_has_no_promise_to_break() -> None:
    scene = two_promised()

    assert breaches(scene, changed(scene, 1, pause=True), ELASTICFLOW) == ()


def test_an_earlier_deadline_is_admissible_only_if_all_promises_hold() -> None:
    scene = two_promised()
    second = scene.jobs[1]

    assert admissible(scene, second, NOW + 51.0, ELASTICFLOW).reply is Reply.ADMITTED
    refused = admissible(scene, second, NOW + 40.0, ELASTICFLOW)
    assert refused.reply is Reply.DECLINED
    assert refused.offers.earliest == NOW + 51.0
    assert refused.offers.in_the_way == ("job-0001",)


def test_a_job_may_ask_for_its_first_deadline_while_it_runs() -> None:
    scene = answered(a_scene([a_record(1)]), ELASTICFLOW)

    contract = admissible(scene, scene.jobs[0], NOW + 30.0, ELASTICFLOW)

    assert contract.reply is Reply.ADMITTED
    assert contract.promised == NOW + 30.0


def test_without_a_deadline_or_under_a_policy_without_promises_nothing_is_promised() -> None:
    scene = two_promised()

    freed = admissible(scene, scene.jobs[0], None, ELASTICFLOW)
    assert freed.reply is Reply.QUEUED
    assert freed.why == "no_promise_asked"
    assert admissible(scene, scene.jobs[0], NOW + 500.0, FIFO).why == "policy_gives_none"


@pytest.mark.parametrize("phase", [Phase.HELD, Phase.PAUSED, Phase.SUBMITTED, Phase.UNSCHEDULABLE])
def test_a_job_that_does_not_run_is_asked_as_a_newcomer(phase: Phase) -> None:
    waiting = a_record(3, phase=phase, pause=phase is Phase.PAUSED)
    scene = a_scene([waiting])

    assert admissible(scene, waiting, NOW + 30.0, ELASTICFLOW).reply is Reply.ADMITTED


def test_a_job_that_is_being_measured_gets_its_answer_later() -> None:
    contract = a_contract(Reply.MEASURING)
    job = a_record(
        1, spec={"auto": True}, curve={}, deadline=NOW + 60.0, contract=contract, phase=Phase.QUEUED
    )

    assert admissible(a_scene([job]), job, NOW + 30.0, ELASTICFLOW) is contract
