"""The picture shows rounds what the records say, and nothing that a round could trip over."""

from __future__ import annotations

from dataclasses import replace
from math import inf
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from tests.forecast.records import EPOCH, NOW, a_contract, a_node, a_record, a_scene, answered, promised
from tests.forecast.scenes import scenes
from tests.properties.checks import assert_actions_lead_to_the_plan, assert_possible

from tenuto.forecast.memory import promised_numbers
from tenuto.forecast.picture import UNKNOWN_LEFT, Scene, picture
from tenuto.model.job import Ending, Pin, Reply
from tenuto.model.node import NodeState
from tenuto.model.phase import Phase, PromiseState
from tenuto.model.plan import Answer, Why
from tenuto.model.snapshot import IDLE, UNUSABLE
from tenuto.policy.base import Policy
from tenuto.policy.registry import POLICIES
from tenuto.rounds.round import run_round

ELASTICFLOW, CHRONUS = POLICIES["elasticflow"], POLICIES["chronus-greedy"]


def test_jobs_stand_in_the_order_of_their_numbers_and_time_begins_at_the_epoch() -> None:
    taken = picture(a_scene([a_record(7, deadline=NOW + 60.0), a_record(3)]))

    assert taken.snapshot.number.tolist() == [3, 7]
    assert [job.number for job in taken.jobs] == [3, 7]
    assert taken.snapshot.now == NOW - EPOCH
    assert taken.snapshot.deadline.tolist() == [inf, NOW - EPOCH + 60.0]
    assert taken.snapshot.undecided.all()


@pytest.mark.parametrize(
    "left_out",
    [
        {"pause": True},
        {"cancel": True},
        {"ending": Ending(phase=Phase.FAILED, why="exit_code", message="")},
        {"phase": Phase.HELD},
        {"phase": Phase.SUCCEEDED},
    ],
    ids=str,
)
def test_a_job_that_is_not_to_be_planned_has_no_row_and_its_slots_are_free(
    left_out: Any,
) -> None:
    taken = picture(a_scene([a_record(1, slots={"node-0": (0, 1)}), replace(a_record(2), **left_out)]))
    alone = picture(a_scene([replace(a_record(1, slots={"node-0": (0, 1)}), **left_out)]))

    assert taken.snapshot.number.tolist() == [1]
    assert alone.snapshot.layout.tolist() == [IDLE] * 4


def test_slots_are_numbered_through_and_named_again() -> None:
    nodes = [a_node(0, 2), a_node(1, 3)]
    taken = picture(a_scene([a_record(5, slots={"node-1": (0, 2)})], nodes))

    assert taken.snapshot.layout.tolist() == [IDLE, IDLE, 5, IDLE, 5]
    assert taken.snapshot.held.tolist() == [2]
    assert taken.named([4, 1, 2]) == {"node-0": (1,), "node-1": (0, 2)}
    assert taken.numbered({"node-1": (2, 0), "node-0": (1,)}) == (1, 2, 4)


@pytest.mark.parametrize("state", [NodeState.OFFLINE, NodeState.DRAINING])
def test_a_job_with_a_slot_on_a_node_that_cannot_be_used_holds_nothing(state: NodeState) -> None:
    nodes = [a_node(0, 2), a_node(1, 2, state)]
    taken = picture(a_scene([a_record(1, slots={"node-0": (0,), "node-1": (1,)})], nodes))

    assert taken.snapshot.layout.tolist() == [IDLE, IDLE, UNUSABLE, UNUSABLE]
    assert taken.snapshot.held.tolist() == [0]
    assert taken.snapshot.changed_at.tolist() == [-inf]


def test_a_job_on_a_node_that_was_removed_holds_nothing() -> None:
    assert picture(a_scene([a_record(1, slots={"gone": (0,)})])).snapshot.held.tolist() == [0]


def test_a_pin_that_differs_from_the_size_held_is_followed_at_once() -> None:
    running = a_record(1, slots={"node-0": (0, 1)}, pin=Pin(workers=3))
    taken = picture(a_scene([running]))

    assert run_round(taken.snapshot, ELASTICFLOW).plan.layout.tolist() == [1, 1, 1, IDLE]
    assert run_round(taken.snapshot, POLICIES["fifo"]).plan.layout.tolist() == [1, 1, 1, IDLE]


def test_a_pin_on_nodes_is_followed_by_the_round() -> None:
    nodes = [a_node(0, 2), a_node(1, 2)]
    job = a_record(1, slots={"node-0": (0, 1)}, pin=Pin(workers=2, nodes={"node-0": 1, "node-1": 1}))
    taken = picture(a_scene([job], nodes))

    slots = np.flatnonzero(run_round(taken.snapshot, ELASTICFLOW).plan.layout == 1).tolist()
    assert {name: len(numbers) for name, numbers in taken.named(slots).items()} == {"node-0": 1, "node-1": 1}


def test_a_job_for_one_node_is_unschedulable_if_that_node_is_too_small() -> None:
    jobs = [a_record(1, spec={"node": "node-1", "min_workers": 2}), a_record(2, spec={"node": "node-0"})]
    taken = picture(a_scene(jobs, [a_node(0, 4), a_node(1, 1)]))

    verdicts = run_round(taken.snapshot, ELASTICFLOW).verdicts
    assert verdicts[1].why is Why.TOO_LARGE
    assert verdicts[2].answer is Answer.QUEUED


def test_the_requested_size_is_the_largest_usable_one_up_to_the_preferred() -> None:
    jobs = [
        a_record(1, spec={"preferred": 3}),
        a_record(2),
        a_record(3, spec={"min_workers": 4, "max_workers": 8}, curve={4: 1.0, 8: 2.0}),
        a_record(4, spec={"preferred": 1}, pin=Pin(workers=2)),
    ]

    assert picture(a_scene(jobs)).snapshot.requested.tolist() == [2, 4, 4, 2]


def test_what_is_left_follows_the_curve_unless_the_controller_knows_better() -> None:
    running = a_record(1, slots={"node-0": (0, 1)}, left=100.0, ready_at=NOW + 5.0)
    scene = a_scene([running], now=NOW + 15.0)

    assert picture(scene).snapshot.left.tolist() == [80.0]
    assert picture(replace(scene, left={1: 33.0})).snapshot.left.tolist() == [33.0]


def test_a_job_that_should_be_done_and_still_runs_has_a_little_left() -> None:
    overdue = a_record(1, slots={"node-0": (0,)}, left=0.0)

    assert 0.0 < picture(a_scene([overdue])).snapshot.left[0] < 1e-3


@pytest.mark.parametrize("steps", [None, 0.0])
def test_a_job_of_unknown_length_has_very_much_left(steps: float | None) -> None:
    assert picture(a_scene([a_record(1, spec={"steps": steps})])).snapshot.left.tolist() == [UNKNOWN_LEFT]


def test_after_a_queued_answer_the_deadline_is_only_a_matter_of_order() -> None:
    contract = a_contract(Reply.QUEUED, why=Why.POLICY_GIVES_NONE.value)
    waiting = a_record(1, phase=Phase.QUEUED, deadline=NOW + 60.0, contract=contract)

    assert picture(a_scene([waiting])).snapshot.deadline.tolist() == [inf]
    assert picture(a_scene([waiting], promises=False)).snapshot.deadline.tolist() == [NOW - EPOCH + 60.0]


def test_a_deadline_without_room_stays_in_the_picture_only_of_a_policy_that_lets_wait() -> None:
    hopeless = a_record(1, deadline=NOW + 60.0, spec={"preferred": 1})
    scene = answered(a_scene([hopeless]), CHRONUS)

    assert picture(scene).snapshot.deadline.tolist() == [NOW - EPOCH + 60.0]
    under_another = picture(replace(scene, memory=None)).snapshot
    assert under_another.deadline.tolist() == [inf]
    assert run_round(under_another, POLICIES["edf-admission"]).plan.layout.tolist() == [1] * 4


def test_a_job_whose_curve_is_measured_has_no_deadline_and_one_size() -> None:
    contract = a_contract(Reply.MEASURING)
    job = a_record(1, spec={"auto": True}, curve={1: 3.0}, deadline=NOW + 60.0, contract=contract)
    snap = picture(a_scene([replace(job, phase=Phase.RUNNING, slots={"node-0": (0,)})])).snapshot

    assert snap.deadline.tolist() == [inf]
    assert snap.sizes[snap.rate[0] > 0.0].tolist() == [2]
    assert snap.held.tolist() == [0]


def test_a_promised_job_is_shown_with_its_deadline_and_not_asked_again() -> None:
    scene = answered(a_scene([a_record(1, deadline=NOW + 200.0)]), ELASTICFLOW)
    taken = picture(scene)

    assert promised_numbers(scene.memory) == {1}
    assert taken.snapshot.deadline.tolist() == [NOW - EPOCH + 200.0]
    assert taken.asked_again == frozenset()
    assert not taken.snapshot.undecided.any()


@pytest.mark.parametrize("policy", [ELASTICFLOW, CHRONUS], ids=["elasticflow", "chronus"])
def test_a_promise_that_the_policy_does_not_know_is_asked_again(policy: Policy) -> None:
    taken = picture(a_scene([promised(1, NOW + 2000.0)]))

    assert taken.asked_again == {1}
    assert run_round(taken.snapshot, policy).verdicts[1].answer is Answer.ADMITTED


def test_a_broken_promise_is_not_asked_again() -> None:
    broken = replace(promised(1, NOW + 2000.0), promise=PromiseState.BROKEN)

    taken = picture(a_scene([broken]))
    assert taken.asked_again == frozenset()
    assert taken.snapshot.deadline.tolist() == [inf]


@pytest.mark.parametrize("policy", [ELASTICFLOW, CHRONUS], ids=["elasticflow", "chronus"])
def test_a_changed_deadline_is_asked_again_and_the_old_promise_forgotten(policy: Policy) -> None:
    scene = answered(a_scene([a_record(n, deadline=NOW + 3000.0) for n in (1, 2)]), policy)
    earlier = [replace(job, deadline=NOW + 900.0) if job.number == 1 else job for job in scene.jobs]

    taken = picture(replace(scene, jobs=earlier))

    assert taken.asked_again == {1}
    assert promised_numbers(taken.snapshot.memory) == {2}
    assert run_round(taken.snapshot, policy).verdicts[1].promised == NOW - EPOCH + 900.0


def test_a_deadline_that_is_taken_back_takes_the_reservation_with_it() -> None:
    scene = answered(a_scene([a_record(1, deadline=NOW + 200.0)]), ELASTICFLOW)

    taken = picture(replace(scene, jobs=[replace(scene.jobs[0], deadline=None)]))

    assert promised_numbers(taken.snapshot.memory) == frozenset()
    assert taken.asked_again == frozenset()


def test_the_deadline_is_asked_for_once_the_curve_is_measured() -> None:
    measured = a_record(1, spec={"auto": True}, deadline=NOW + 500.0, slots={"node-0": (0,)})

    taken = picture(a_scene([measured]))
    assert taken.asked_again == {1}
    assert run_round(taken.snapshot, ELASTICFLOW).verdicts[1].answer is Answer.ADMITTED


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES.keys())
@settings(max_examples=25)
@given(scene=scenes())
def test_every_policy_answers_the_picture_of_any_records(policy: Policy, scene: Scene) -> None:
    taken = picture(replace(scene, promises=policy.promises))
    snap = taken.snapshot
    decided = run_round(snap, policy)

    assert_possible(snap, decided)
    assert_actions_lead_to_the_plan(snap, decided)
    rates = snap.rate[np.arange(len(snap)), np.searchsorted(snap.sizes, snap.requested)]
    assert (rates > 0.0).all() and (snap.left > 0.0).all() and np.isfinite(snap.left).all()
    for job in taken.jobs:
        where = taken.named(np.flatnonzero(decided.plan.layout == job.number).tolist())
        assert taken.numbered(where) == tuple(np.flatnonzero(decided.plan.layout == job.number))
        if job.spec.node and not (job.pin and job.pin.nodes):
            assert where.keys() <= {job.spec.node}
        if where and job.pin is not None:
            counts = {name: len(slots) for name, slots in where.items()}
            assert sum(counts.values()) == job.pin.workers
            assert not job.pin.nodes or counts == job.pin.nodes


@settings(max_examples=40)
@given(scene=scenes())
def test_a_second_round_on_the_answered_records_is_possible_too(scene: Scene) -> None:
    after = answered(scene, ELASTICFLOW)
    taken = picture(replace(after, now=after.now + 10.0))

    assert_possible(taken.snapshot, run_round(taken.snapshot, ELASTICFLOW))
