"""Why a job is as it is: each state has its sentence, and each remedy is granted by the round if it is tried."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from tests.forecast.records import NOW, a_contract, a_node, a_record, a_scene, answered, promised

from tenuto.forecast.case import Around, Case
from tenuto.forecast.explain import Explanation, explain
from tenuto.forecast.picture import Scene
from tenuto.forecast.whatif import as_nodes, with_nodes
from tenuto.model.event import Event
from tenuto.model.job import After, Ending, Job, Pin, Reply
from tenuto.model.node import NodeState
from tenuto.model.phase import Phase, PromiseState
from tenuto.policy.registry import POLICIES
from tenuto.settings import Learning

ELASTICFLOW, FIFO = POLICIES["elasticflow"], POLICIES["fifo"]
WIDE = {"min_workers": 4, "max_workers": 4}


def told(scene: Scene, job: Job, **around: Any) -> Explanation:
    return explain(Case(scene, job, ELASTICFLOW, {}, Learning(), Around(**around)))


def kinds(found: Explanation) -> list[str]:
    return [remedy.kind for remedy in found.remedies]


def said(found: Explanation) -> str:
    return " ".join(found.sentences)


def crowded(*jobs: Job, nodes: int = 1) -> Scene:
    """Nodes of four slots, and everybody who fits has begun."""
    return answered(a_scene(jobs, [a_node(number) for number in range(nodes)]), ELASTICFLOW)


def job_of(scene: Scene, number: int) -> Job:
    [job] = [job for job in scene.jobs if job.number == number]
    return job


def test_a_waiting_job_names_who_has_the_slots_and_what_would_let_it_begin() -> None:
    scene = crowded(a_record(1, spec=WIDE, deadline=NOW + 26.0), a_record(2, spec=WIDE))

    found = told(scene, job_of(scene, 2), others=[FIFO])

    assert found.why == "slots_taken"
    assert "waits for 4 slots at least; 0 of 4 are idle" in said(found)
    assert [job.number for job in found.holders] == [1]
    assert kinds(found) == ["slots", "job"]
    assert found.remedies[0].command == "tenuto whatif --add-slots 4"
    assert "expected to begin" in said(found)


def test_a_job_that_is_being_measured_waits_for_the_size_that_comes_next() -> None:
    three = a_record(1, spec={"min_workers": 3, "max_workers": 3})
    measuring = a_record(2, spec={"auto": True}, deadline=NOW + 900.0, curve={1: 1.0}, phase=Phase.QUEUED)
    measuring = replace(measuring, contract=a_contract(reply=Reply.MEASURING))
    scene = crowded(three)
    scene = replace(scene, jobs=[*scene.jobs, measuring])

    assert "waits for 2 slots to be measured there; 1 of 4 is idle." in said(told(scene, measuring))


def test_so_many_more_slots_as_are_told_suffice_and_fewer_do_not() -> None:
    scene = crowded(a_record(1, spec=WIDE), a_record(2, spec=WIDE))
    waiting = job_of(scene, 2)

    [remedy] = [one for one in told(scene, waiting).remedies if one.kind == "slots"]
    count = int(remedy.command.rpartition(" ")[2])

    for slots, begins in ((count, True), (count - 1, False)):
        grown = answered(with_nodes(scene, as_nodes(scene, slots)), ELASTICFLOW)
        assert bool(job_of(grown, 2).slots) is begins


def test_a_job_that_takes_fewer_workers_may_begin() -> None:
    scene = crowded(
        a_record(1, spec={"max_workers": 2}), a_record(2, spec=WIDE, curve={1: 1.0, 2: 2.0, 4: 4.0})
    )

    found = told(scene, job_of(scene, 2))

    assert "with 2 workers at least, it would begin now" in [one.sentence for one in found.remedies]


def test_a_job_that_is_too_large_is_told_how_many_slots_are_missing() -> None:
    large = a_record(1, spec={"min_workers": 8, "max_workers": 8}, curve={8: 8.0}, phase=Phase.UNSCHEDULABLE)

    found = told(a_scene([large]), large)

    assert found.why == "too_large"
    assert "needs 8 slots, and the nodes in use have 4" in said(found)
    assert found.remedies[-1].command == "tenuto whatif --add-slots 4"


def test_a_job_bound_to_a_node_that_is_drained_says_so() -> None:
    bound = a_record(1, spec={"node": "node-0"}, phase=Phase.QUEUED, contract=a_contract(Reply.QUEUED))
    scene = a_scene([bound], [a_node(0, 4, NodeState.DRAINING), a_node(1)])

    found = told(scene, bound)

    assert found.why == "node_unusable"
    assert "node node-0 only, which is draining" in said(found)
    assert found.remedies[0].command == "tenuto node undrain node-0"


def test_a_pin_that_cannot_be_had_is_named() -> None:
    scene = crowded(a_record(1, spec={"max_workers": 2}), a_record(2))
    pinned = replace(job_of(scene, 2), pin=Pin(workers=4), actor="zoë", slots={}, phase=Phase.QUEUED)
    scene = replace(scene, jobs=[job_of(scene, 1), pinned])

    found = told(scene, pinned)

    assert found.why == "pinned"
    assert "pinned by zoë" in said(found)
    assert "tenuto scale job-0002 auto" in [one.command for one in found.remedies]


def test_a_job_that_waits_for_another_names_it_and_its_end() -> None:
    scene = crowded(a_record(1))
    held = a_record(2, phase=Phase.HELD, spec={"after": After(job="job-0001")})

    found = told(scene, held, before=job_of(scene, 1))

    assert found.why == "after"
    assert "학습 (job-0001)" in said(found)
    assert "expected to be done" in said(found)


def test_a_job_that_waits_for_a_paused_one_is_helped_by_its_resumption() -> None:
    paused = a_record(1, phase=Phase.PAUSED)
    held = a_record(2, phase=Phase.HELD, spec={"after": After(job="job-0001")})

    found = told(a_scene([paused, held]), held, before=paused)

    assert [one.command for one in found.remedies] == [
        "tenuto resume job-0001",
        "tenuto update job-0002 --after none",
    ]


@pytest.mark.parametrize("why", ["draining", "waits_for_nodes", "policy_failed", "controller_stopped"])
def test_whatever_stops_the_whole_platform_comes_first(why: str) -> None:
    waiting = a_record(1, phase=Phase.QUEUED, contract=a_contract(Reply.QUEUED))

    found = told(a_scene([waiting]), waiting, halted=why, sentence="Nothing is decided now.")

    assert (found.why, found.sentences[0]) == (why, "Nothing is decided now.")
    assert kinds(found) == ["do"]


def test_an_unanswered_job_is_told_what_it_would_be_answered() -> None:
    asks = a_record(1, deadline=NOW + 60.0)

    found = told(a_scene([asks]), asks)

    assert found.why == "no_answer_yet"
    assert "Answered now, it would be admitted" in said(found)


def test_a_declined_job_gets_offers_as_of_now() -> None:
    contract = a_contract(Reply.DECLINED, why="deadline_infeasible", message="declined: it was full")
    refused = a_record(
        1, phase=Phase.DECLINED, deadline=NOW + 10.0, contract=contract, why="deadline_infeasible"
    )

    found = told(a_scene(), refused)

    assert found.sentences[0] == "It was declined: it was full."
    assert "Submitted again now" in found.sentences[1]
    assert kinds(found)[:2] == ["deadline", "work"]
    assert "deadline=" in found.remedies[0].command


def test_a_declined_job_that_would_be_admitted_now_is_told_to_come_again() -> None:
    refused = a_record(1, phase=Phase.DECLINED, deadline=NOW + 60.0, spec={"deadline": "2030-01-01T00:00Z"})

    found = told(a_scene(), refused)

    assert "it would be admitted" in said(found)
    assert [one.command for one in found.remedies] == ["tenuto resubmit job-0001"]


def test_a_deadline_that_has_passed_cannot_be_promised_by_anything() -> None:
    refused = a_record(1, phase=Phase.DECLINED, deadline=NOW - 5.0, spec={"deadline": "2020-01-01T00:00Z"})

    found = told(a_scene(), refused)

    assert "has passed" in said(found)
    assert kinds(found) == ["do"]


def test_a_relative_deadline_counts_from_now_if_the_job_comes_again() -> None:
    refused = a_record(1, phase=Phase.DECLINED, deadline=NOW - 5.0, spec={"deadline": "+60s"})

    assert "it would be admitted" in said(told(a_scene(), refused))


def test_a_running_job_tells_what_it_holds_what_is_reserved_and_what_comes() -> None:
    scene = crowded(a_record(1, deadline=NOW + 60.0))

    found = told(scene, job_of(scene, 1))

    assert found.why == "running"
    assert found.sentences[0] == "It runs on 4 slots: node-0:4."
    assert "holds" in said(found)
    assert "Reserved for it: 2 slots until" in said(found)


def scaled(job: str, before: str, after: str, reason: str = "") -> Event:
    return Event(
        kind="scaled", at=NOW, actor="policy:elasticflow", job=job, before=before, after=after, reason=reason
    )


def test_a_shrunk_job_is_told_who_got_its_slots() -> None:
    scene = crowded(a_record(1))
    events: Sequence[Event] = [
        scaled("job-0001", "node-0:4", "node-0:2", "chosen by the policy"),
        scaled("job-0009", "", "node-0:2"),
        scaled("job-0008", "node-0:2", "node-0:1"),
    ]

    found = told(scene, job_of(scene, 1), scaled=events, names={"job-0009": "다른 것"})

    assert "from node-0:4 to node-0:2 (chosen by the policy)" in said(found)
    assert "다른 것 (job-0009): none to node-0:2" in said(found)
    assert "job-0008" not in said(found)


def test_a_promise_at_risk_has_its_cause_and_what_would_save_it() -> None:
    late = replace(
        promised(1, NOW + 20.0, slots={"node-0": (0, 1, 2, 3)}),
        promise=PromiseState.AT_RISK,
        breach="slower than its curve",
    )

    found = told(a_scene([late]), late)

    assert found.why == "at_risk"
    assert "is at risk: slower than its curve" in said(found)
    assert found.remedies[0].kind == "deadline"
    assert found.remedies[0].command.startswith("tenuto update job-0001 --deadline ")


def test_a_paused_job_names_who_paused_it() -> None:
    paused = a_record(1, phase=Phase.PAUSED, pause=True, actor="mio", message="paused by mio")

    found = told(a_scene([paused]), paused)

    assert found.sentences[0] == "It was paused by mio and holds no slots."
    assert found.remedies[0].command == "tenuto resume job-0001"


def test_a_job_that_is_being_ended_says_so() -> None:
    ending = Ending(phase=Phase.CANCELLED, why="cancelled", message="cancelled by mio")
    leaving = a_record(1, phase=Phase.RUNNING, cancel=True, ending=ending, message="cancelled by mio")

    assert told(a_scene([leaving]), leaving).why == "ending"


@pytest.mark.parametrize("phase", [Phase.SUCCEEDED, Phase.FAILED, Phase.LOST, Phase.CANCELLED])
def test_a_job_that_has_ended_says_how(phase: Phase) -> None:
    ended = a_record(1, phase=phase, ended_at=NOW - 60.0, message="that was it", started_at=NOW - 90.0)

    found = told(a_scene(), ended)

    assert f"It has ended as {phase}" in said(found)
    assert bool(found.remedies) is (phase is not Phase.SUCCEEDED)


def test_a_job_without_gpus_waits_for_no_slot() -> None:
    beside = a_record(
        1, spec={"cpu_only": True}, phase=Phase.QUEUED, why="cpu_places_taken", message="waits for a place"
    )

    found = told(a_scene([beside]), beside)

    assert (found.why, found.sentences[0]) == ("cpu_places_taken", "Waits for a place.")


def test_a_job_behind_one_that_never_ends_has_no_end_in_sight() -> None:
    endless = a_record(1, spec={"steps": None, **WIDE}, curve={})
    scene = crowded(endless, a_record(2, spec=WIDE))

    assert "cannot be foreseen" in said(told(scene, job_of(scene, 2)))


def test_a_job_of_unknown_length_is_told_when_it_begins() -> None:
    scene = crowded(a_record(1, spec=WIDE), a_record(2, spec={"steps": None, **WIDE}, curve={}))

    assert "It is expected to begin 2" in said(told(scene, job_of(scene, 2)))


UNUSED: dict[str, Any] = {"slots": {"node-0": (0, 1)}, "idle_since": NOW - 1200.0}


def test_a_job_that_does_not_use_its_gpus_is_told_what_can_be_done() -> None:
    job = a_record(1, **UNUSED)

    found = told(a_scene([job], [a_node(0)]), job)

    assert found.why == "idle"
    assert "It has not used any of its 2 GPUs since " in said(found)
    assert [remedy.command for remedy in found.remedies] == [
        f"tenuto logs {job.id} --tail 20",
        f"tenuto scale {job.id} 1",
        f"tenuto pause {job.id}",
    ]


def test_a_job_that_was_shrunk_for_it_says_so_and_foresees_its_least_size() -> None:
    job = a_record(1, slots={"node-0": (0,)}, idle_since=NOW - 1200.0, shrunk=True)

    found = told(a_scene([job], [a_node(0)]), job)

    assert "has not used its GPU since" in said(found)
    assert "shrunk to 1 worker, its least size, for that; it may grow again as soon as it works" in said(
        found
    )
    assert "No change of its size is foreseen." in said(found)
    assert f"tenuto scale {job.id} auto" in [remedy.command for remedy in found.remedies]


def test_nobody_is_advised_to_give_a_promise_away() -> None:
    scene = crowded(a_record(1, deadline=NOW + 500.0))
    job = replace(job_of(scene, 1), idle_since=NOW - 1200.0)
    assert job.promise is PromiseState.HOLDS

    assert [one.command for one in told(scene, job).remedies] == [f"tenuto logs {job.id} --tail 20"]
