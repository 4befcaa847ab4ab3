"""Looking ahead is the simulator's arithmetic on the rows of a snapshot."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from hypothesis import given, settings
from tests.builders import Seconds, a_job, a_snapshot, a_world, free_of_charge
from tests.forecast.records import a_node, a_record, a_scene
from tests.properties.strategies import all_rules, costs, workloads

from tenuto.forecast.ahead import LEAST_ROUNDS, Reach, ahead, expected
from tenuto.forecast.picture import picture
from tenuto.model.node import NodeState
from tenuto.model.phase import Phase
from tenuto.model.snapshot import Rules
from tenuto.policy.base import Policy
from tenuto.policy.registry import POLICIES
from tenuto.rounds.round import run_round
from tenuto.sim.workload import Workload
from tenuto.sim.world import World

FIFO, ELASTICFLOW = POLICIES["fifo"], POLICIES["elasticflow"]


def until_all_have_come(workload: Workload, policy: Policy, cost: Seconds, rules: Rules) -> World:
    """A world whose last job has just arrived and is not answered yet."""
    world = a_world(workload, cost=cost, rules=rules)
    while True:
        world.advance_to(world.next_event())
        if world.arrived == len(workload.trace):
            return world
        world.apply(run_round(world.snapshot(), policy))


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES.keys())
@settings(max_examples=12)
@given(workload=workloads(), cost=costs, rules=all_rules)
def test_the_future_is_what_the_simulator_says_if_nobody_else_comes(
    policy: Policy, workload: Workload, cost: Seconds, rules: Rules
) -> None:
    world = until_all_have_come(workload, policy, cost, rules)
    snap = world.snapshot()

    seen = ahead(snap, policy)

    while True:
        world.apply(run_round(world.snapshot(), policy))
        due = world.next_event()
        if due == inf:
            break
        world.advance_to(due)
    finished = world.finished[snap.number]
    assert seen.refused.tolist() == world.refused[snap.number].tolist()
    assert np.where(np.isnan(finished), inf, finished).tolist() == seen.finish.tolist()
    waited = snap.held == 0
    started = world.started[snap.number][waited & ~seen.refused]
    assert (
        seen.start[waited & ~seen.refused] >= started
    ).all()  # the simulator tells of the first start ever


def test_looking_ahead_changes_nothing_in_the_snapshot() -> None:
    snap = a_snapshot(jobs=[a_job(new=True), a_job(on=[0, 1])], nodes=(4,))

    ahead(snap, ELASTICFLOW)

    assert snap.left.tolist() == [100.0, 100.0]
    assert snap.held.tolist() == [0, 2]
    assert snap.undecided.tolist() == [True, False]


def test_numbers_need_not_be_rows() -> None:
    taken = picture(a_scene([a_record(40), a_record(7, slots={"node-0": (0, 1, 2, 3)})]))

    assert ahead(taken.snapshot, FIFO).finish.tolist() == [1025.0, 1050.0]


def test_a_job_bound_to_a_node_waits_for_that_node() -> None:
    first = a_record(1, spec={"node": "node-0"}, slots={"node-0": (0, 1)})
    jobs = [first, a_record(2, spec={"node": "node-0"}, curve={2: 2.0})]
    taken = picture(a_scene(jobs, [a_node(0, 2), a_node(1, 2)]))

    assert ahead(taken.snapshot, FIFO).start.tolist() == [1000.0, 1050.0]


def test_only_as_much_is_looked_at_as_was_asked_for() -> None:
    snap = a_snapshot(jobs=[a_job(left=left, new=True) for left in (10.0, 20.0, 300.0)], nodes=(3,))

    assert ahead(snap, FIFO, watch=[0]).finish.tolist() == [10.0, inf, inf]
    assert ahead(snap, FIFO, reach=Reach(until=25.0)).finish.tolist() == [10.0, 20.0, inf]
    assert ahead(snap, FIFO, reach=Reach(rounds=2)).finish.tolist() == [10.0, inf, inf]
    assert ahead(snap, FIFO, watch=[]).seen_until == 0.0


def test_ends_that_are_taken_together_keep_their_own_moments() -> None:
    snap = a_snapshot(jobs=[a_job(left=float(left), new=True) for left in range(10, 90, 10)], nodes=(8,))

    seen = ahead(snap, FIFO, reach=Reach(ends=2))

    assert seen.finish.tolist() == [10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0]


def test_whoever_runs_when_the_look_ends_is_expected_to_go_on_so() -> None:
    snap = a_snapshot(jobs=[a_job(left=left, new=True) for left in (10.0, 20.0, 300.0)], nodes=(2,))

    seen = ahead(snap, FIFO, reach=Reach(rounds=1))

    assert seen.onward.tolist() == [10.0, 20.0, inf]


def test_who_cannot_be_foreseen_has_no_estimate() -> None:
    endless = a_record(1, spec={"steps": None, "max_workers": 1}, curve={})
    behind = a_record(2, spec={"min_workers": 4}, curve={4: 1.0})
    snap = picture(a_scene([endless, behind])).snapshot

    assert expected(snap, FIFO, [1]) == {}
    assert expected(snap, FIFO, []) == {}
    assert expected(picture(a_scene([behind])).snapshot, FIFO, [0]) == {0: 1100.0}


@pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES.keys())
def test_without_a_node_nobody_is_seen_to_begin(policy: Policy) -> None:
    waiting = [a_record(1, phase=Phase.QUEUED), a_record(2, phase=Phase.SUBMITTED)]
    snap = picture(a_scene(waiting, [a_node(state=NodeState.OFFLINE)])).snapshot

    seen = ahead(snap, policy)

    assert seen.start.tolist() == [inf, inf]
    assert seen.seen_until == inf


def test_the_first_answers_are_told() -> None:
    jobs = [a_job(deadline=51.0, new=True), a_job(deadline=60.0, new=True)]
    snap = a_snapshot(jobs=[*jobs, a_job(on=[0])], nodes=(2,), cost=free_of_charge)

    seen = ahead(snap, ELASTICFLOW)

    assert sorted(seen.verdicts) == [0, 1]
    assert seen.refused.tolist() == [False, True, False]


def test_a_snapshot_without_anybody_has_no_future() -> None:
    assert len(ahead(a_snapshot(), FIFO).finish) == 0


def test_a_promised_job_is_done_by_its_plan_where_nobody_looks_so_far() -> None:
    snap = a_snapshot(jobs=[a_job(deadline=80.0, new=True)], nodes=(2,), cost=free_of_charge)

    near = ahead(snap, ELASTICFLOW, reach=Reach(rounds=1))

    assert near.finish.tolist() == near.planned.tolist()
    assert near.finish[0] <= 80.0


def test_the_work_of_a_look_is_bounded_however_many_jobs_live() -> None:
    assert Reach.within(60_000, 10).exact
    many = Reach.within(60_000, 1000)
    assert (many.rounds, many.exact) == (60, False)
    assert Reach.within(0, 10**6).rounds == LEAST_ROUNDS


def test_a_round_that_was_run_already_is_not_run_again() -> None:
    snap = a_snapshot(jobs=[a_job(new=True)], nodes=(2,))
    first = run_round(snap, FIFO)

    seen = ahead(snap, FIFO, first=first)

    assert seen.first is first
    assert seen.finish.tolist() == ahead(snap, FIFO).finish.tolist()


def test_changes_of_size_are_told() -> None:
    snap = a_snapshot(jobs=[a_job(left=10.0, new=True), a_job(left=10.0, new=True)], nodes=(1,))

    assert ahead(snap, FIFO).sizes == {0: [(0.0, 1)], 1: [(10.0, 1)]}
