"""What must hold from a trace's first job to its last, whatever the policy."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.builders import AJob, Seconds, a_workload, a_world, as_usual, replayed
from tests.properties.checks import assert_actions_lead_to_the_plan, assert_possible
from tests.properties.policies import POLICIES
from tests.properties.strategies import all_rules, costs, submissions_of, workloads

from tenuto.model.columns import Flags, Floats
from tenuto.model.plan import ActionKind
from tenuto.model.snapshot import Placement, Rules
from tenuto.policy.base import Policy
from tenuto.rounds.round import run_round
from tenuto.sim.outcome import Outcome
from tenuto.sim.workload import Workload

every_policy = pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES.keys())
PROMISING = {name: policy for name, policy in POLICIES.items() if policy.promises}
every_promising_policy = pytest.mark.parametrize("policy", PROMISING.values(), ids=PROMISING.keys())
QUEUE_WITHOUT_PROMISE = ("chronus", "chronus-greedy")
"""Policies that let a job wait for what is left over if its deadline cannot be promised."""
some = settings(max_examples=40)
splitting = st.sampled_from([Placement.PACK, Placement.SPREAD, Placement.RANDOM])
margins = st.sampled_from([0.0, 0.1])


@every_policy
@some
@given(workload=workloads(), cost=costs, rules=all_rules)
def test_every_job_ends_or_is_refused_and_time_never_goes_back(
    policy: Policy, workload: Workload, cost: Seconds, rules: Rules
) -> None:
    outcome = replayed(workload, policy, cost=cost, rules=rules)

    assert (np.isfinite(outcome.finished) == outcome.admitted).all()
    assert [bool(reason) for reason in outcome.reason] == (~outcome.admitted).tolist()
    assert (outcome.finished >= outcome.started)[outcome.admitted].all()
    assert (outcome.started >= workload.trace.submitted)[outcome.admitted].all()
    assert all(earlier <= later for earlier, later in pairwise(outcome.events.time.tolist()))
    assert (outcome.events.busy <= workload.cluster.total).all()
    assert outcome.events.busy[-1] == outcome.events.running[-1] == outcome.events.waiting[-1] == 0


@every_policy
@some
@given(workload=workloads(), cost=costs, rules=all_rules)
def test_every_round_on_the_way_is_possible_and_the_work_done_is_the_work_asked_for(
    policy: Policy, workload: Workload, cost: Seconds, rules: Rules
) -> None:
    world = a_world(workload, cost=cost, rules=rules)
    done = np.zeros(len(workload.trace))
    speed, ready = np.zeros(len(done)), np.zeros(len(done))
    while (due := world.next_event()) < np.inf:
        if np.isfinite(world.now):
            done += speed * np.maximum(due - np.maximum(ready, world.now), 0.0)
        world.advance_to(due)
        speed[np.isfinite(world.finished)] = 0.0
        snap = world.snapshot()
        decided = run_round(snap, policy)

        assert_possible(snap, decided)
        assert_actions_lead_to_the_plan(snap, decided)

        for action in decided.actions:
            size = len(action.slots)
            speed[action.number] = _speed(workload, action.number, size)
            ready[action.number] = due + (cost(size) if action.kind is not ActionKind.STOP else 0.0)
        world.apply(decided)
    assert done[~world.refused] == pytest.approx(workload.trace.steps[~world.refused], abs=1e-3)
    assert not done[world.refused].any()


@every_promising_policy
@settings(max_examples=100)
@given(workload=workloads(powers_only=True), margin=margins)
def test_without_overhead_no_promise_is_broken(policy: Policy, workload: Workload, margin: float) -> None:
    outcome = replayed(workload, policy, rules=Rules(margin=margin))

    assert_promises_kept(outcome)
    assert_promised_or_refused(workload, policy, outcome)


@every_promising_policy
@settings(max_examples=100)
@given(workload=workloads(), placement=splitting, margin=margins)
def test_without_overhead_no_promise_is_broken_at_odd_sizes_where_jobs_may_be_split(
    policy: Policy, workload: Workload, placement: Placement, margin: float
) -> None:
    assert_promises_kept(replayed(workload, policy, rules=Rules(placement=placement, margin=margin)))


@every_promising_policy
@settings(max_examples=100)
@given(workload=workloads(powers_only=True), margin=margins)
def test_with_the_usual_overhead_no_promise_is_broken(
    policy: Policy, workload: Workload, margin: float
) -> None:
    assert_promises_kept(replayed(workload, policy, cost=as_usual, rules=Rules(margin=margin)))


@every_promising_policy
@some
@given(
    jobs=submissions_of(powers_only=True),
    nodes=st.sampled_from([(1,), (4,), (2, 2), (8,), (4, 4, 4, 4)]),
    cost=costs,
    margin=margins,
)
def test_a_newcomer_never_breaks_an_earlier_promise(
    policy: Policy, jobs: list[AJob], nodes: tuple[int, ...], cost: Seconds, margin: float
) -> None:
    jobs = sorted(jobs, key=lambda job: job.arrived)
    rules = Rules(margin=margin)

    before = replayed(a_workload(jobs=jobs[:-1], nodes=nodes), policy, cost=cost, rules=rules)
    after = replayed(a_workload(jobs=jobs, nodes=nodes), policy, cost=cost, rules=rules)

    promised = np.isfinite(before.promised)
    assert (before.promised[promised] == after.promised[:-1][promised]).all()
    assert after.met[:-1][promised].all()


@every_policy
@some
@given(workload=workloads(), cost=costs, rules=all_rules)
def test_the_same_trace_gives_the_same_replay(
    policy: Policy, workload: Workload, cost: Seconds, rules: Rules
) -> None:
    first, second = (replayed(workload, policy, cost=cost, rules=rules) for _ in range(2))

    assert np.array_equal(first.finished, second.finished, equal_nan=True)
    assert np.array_equal(first.events.time, second.events.time)
    assert np.array_equal(first.changes, second.changes)


def assert_promises_kept(outcome: Outcome) -> None:
    promised = np.isfinite(outcome.promised)
    late = promised & ~(outcome.finished <= outcome.promised)
    assert not late.any(), f"late: {np.flatnonzero(late)} by {(outcome.finished - outcome.promised)[late]} s"


def assert_promised_or_refused(workload: Workload, policy: Policy, outcome: Outcome) -> None:
    asked: Flags = np.isfinite(workload.trace.deadline)
    promised: Flags = np.isfinite(outcome.promised)
    assert not (promised & ~(asked & outcome.admitted)).any()
    if policy.name not in QUEUE_WITHOUT_PROMISE:
        assert promised[asked & outcome.admitted].all()


def _speed(workload: Workload, number: int, size: int) -> float:
    rates: Floats = workload.rate[number]
    return 0.0 if size == 0 else float(rates[workload.sizes == size][0])
