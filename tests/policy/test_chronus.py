"""Chronus: promises are leases, and the rest runs on what is left over."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.builders import AJob, Seconds, a_job, a_snapshot, a_workload, a_world, as_usual, replayed
from tests.properties.strategies import costs, submissions_of, workloads

from tenuto.model.cost import Cost
from tenuto.model.plan import NEVER, RATHER_NOT, ActionKind, Answer, Round, Why
from tenuto.model.snapshot import Placement, Rules, Snapshot
from tenuto.policy.base import Policy
from tenuto.policy.chronus.book import BEFORE_ALL
from tenuto.policy.chronus.clock import clock_at, work_of
from tenuto.policy.chronus.policy import CHRONUS, CHRONUS_GREEDY
from tenuto.rounds.round import run_round
from tenuto.sim.workload import Workload

pytest.importorskip("highspy", reason="chronus plans with HiGHS, which is in the lab extra")

both = pytest.mark.parametrize("policy", [CHRONUS, CHRONUS_GREEDY], ids=["chronus", "chronus-greedy"])
LEASE = 100.0
lengths = st.sampled_from([7.0, 20.0, 33.3, 100.0])


def on(slots: int, seconds: float, *, arrived: float = 0.0, deadline: float = np.inf) -> AJob:
    """A job that takes so long on so many slots."""
    return a_job(left=seconds * slots, curve={slots: float(slots)}, arrived=arrived, deadline=deadline)


def with_lease(policy: Policy, seconds: float = LEASE) -> Policy:
    return policy.tuned(lease=seconds)


def rounds_of(workload: Workload, policy: Policy, cost: Seconds) -> list[tuple[Snapshot, Round]]:
    """Every round of a replay."""
    world = a_world(workload, cost=cost)
    rounds = []
    while (due := world.next_event()) < np.inf:
        world.advance_to(due)
        snap = world.snapshot()
        rounds.append((snap, run_round(snap, policy)))
        world.apply(rounds[-1][1])
    return rounds


@both
def test_a_deadline_is_promised_if_enough_whole_leases_lie_before_it(policy: Policy) -> None:
    jobs = [replace(on(8, 150, deadline=200), new=True), replace(on(8, 50, deadline=299), new=True)]

    verdicts = run_round(a_snapshot(jobs=jobs), with_lease(policy)).verdicts

    assert (verdicts[0].answer, verdicts[0].promised, verdicts[0].share) == (Answer.ADMITTED, 200.0, 8)
    assert (verdicts[1].answer, verdicts[1].why) == (Answer.QUEUED, Why.NO_ROOM_FOR_PROMISE)
    assert str(verdicts[1]) == "runs on what is left over: its deadline cannot be promised"


@both
def test_a_lease_is_worth_its_length_less_the_cost_of_a_start(policy: Policy) -> None:
    """Starting on eight slots costs 10 s: two leases of 100 s hold 180 s of work, and not a second more."""
    fits, too_long = (
        run_round(
            a_snapshot(jobs=[replace(on(8, seconds, deadline=200), new=True)], cost=as_usual),
            with_lease(policy),
        ).verdicts[0]
        for seconds in (180, 181)
    )

    assert (fits.answer, too_long.answer) == (Answer.ADMITTED, Answer.QUEUED)


@both
def test_a_lease_may_begin_with_a_move(policy: Policy) -> None:
    dear = Cost(np.zeros(1), np.zeros(1), np.array([10.0]))
    fits, too_long = (
        run_round(
            replace(a_snapshot(jobs=[replace(on(8, seconds, deadline=200), new=True)]), cost=dear),
            with_lease(policy),
        ).verdicts[0]
        for seconds in (180, 181)
    )

    assert (fits.answer, too_long.answer) == (Answer.ADMITTED, Answer.QUEUED)


@both
def test_among_jobs_without_a_promise_an_urgent_one_goes_first(policy: Policy) -> None:
    jobs = [replace(on(8, 10), new=True), replace(on(8, 1000), new=True, urgent=True)]

    assert with_lease(policy).decide(a_snapshot(jobs=jobs)).sizes.tolist() == [0, 8]


@both
@pytest.mark.parametrize("seconds", [0.0, 1e-8])
def test_even_next_to_nothing_is_promised_a_lease(policy: Policy, seconds: float) -> None:
    snap = a_snapshot(jobs=[replace(on(8, seconds, deadline=200), new=True)])

    verdict = run_round(snap, with_lease(policy)).verdicts[0]

    assert (verdict.answer, verdict.expected) == (Answer.ADMITTED, 200.0)


@both
def test_the_margin_is_added_to_the_work(policy: Policy) -> None:
    snap = a_snapshot(jobs=[replace(on(8, 185, deadline=200), new=True)], rules=Rules(margin=0.1))

    assert run_round(snap, with_lease(policy)).verdicts[0].why is Why.NO_ROOM_FOR_PROMISE


@both
def test_who_comes_within_a_lease_starts_at_once_but_is_promised_whole_leases_only(policy: Policy) -> None:
    early, late = on(4, 70, arrived=20, deadline=199), on(4, 70, arrived=20, deadline=200)

    outcome = replayed(a_workload(jobs=[early, late]), with_lease(policy))

    assert outcome.started.tolist() == [20.0, 20.0]
    assert np.isfinite(outcome.promised).tolist() == [False, True]
    assert outcome.met.all()


@both
def test_a_lease_that_nobody_has_yet_may_be_given_out_a_little_late_for_what_is_left_of_it(
    policy: Policy,
) -> None:
    fits, too_long = on(4, 95, arrived=5, deadline=100), on(4, 96, arrived=5, deadline=101)

    outcome = replayed(a_workload(jobs=[fits, too_long]), with_lease(policy))

    assert np.isfinite(outcome.promised).tolist() == [True, False]
    assert outcome.met.all()


@both
def test_a_promised_job_gets_its_slots_at_the_boundary_and_keeps_them_without_a_new_start(
    policy: Policy,
) -> None:
    best_effort = on(8, 300)
    promised = on(8, 180, arrived=50, deadline=300)

    outcome = replayed(a_workload(jobs=[best_effort, promised]), with_lease(policy), cost=as_usual)

    assert outcome.started[1] == 100.0
    assert outcome.finished[1] == pytest.approx(290.0)
    assert outcome.changes.tolist() == [3, 1]  # the other one starts, is stopped, and starts again


@both
def test_deadlines_come_before_best_effort(policy: Policy) -> None:
    jobs = [on(8, 150), on(8, 150, deadline=1000), on(8, 150, deadline=160)]

    outcome = replayed(a_workload(jobs=jobs), with_lease(policy))

    assert np.isfinite(outcome.promised).tolist() == [False, True, False]
    assert outcome.finished.tolist() == [450.0, 300.0, 150.0]
    assert outcome.met.tolist() == [False, True, True]


@both
def test_a_promised_job_may_run_ahead_of_its_plan(policy: Policy) -> None:
    outcome = replayed(a_workload(jobs=[on(8, 150, deadline=10_000)]), with_lease(policy))

    assert outcome.finished.tolist() == [150.0]


@both
def test_within_a_lease_nobody_is_stopped_for_a_newcomer(policy: Policy) -> None:
    first, hurried = on(8, 90), on(8, 30, arrived=10, deadline=120)

    outcome = replayed(a_workload(jobs=[first, hurried]), with_lease(policy))

    assert outcome.preempted.tolist() == [0, 0]
    assert outcome.started.tolist() == [0.0, 90.0]


def test_free_slots_go_to_nobody_who_could_not_make_progress_before_the_lease_ends() -> None:
    early, late = on(8, 50, arrived=89), on(8, 50, arrived=95)

    started = [
        replayed(a_workload(jobs=[job]), with_lease(CHRONUS_GREEDY), cost=as_usual).started.tolist()
        for job in (early, late)
    ]

    assert started == [[89.0], [100.0]]


def test_at_the_beginning_of_a_lease_its_holders_would_rather_not_move_and_later_they_never_do() -> None:
    policy = with_lease(CHRONUS_GREEDY)
    jobs = [replace(on(8, 100, deadline=100), new=True), replace(on(8, 500), new=True)]
    at_boundary = policy.decide(a_snapshot(jobs=jobs, nodes=(8, 8)))
    running = [replace(jobs[0], new=False, on=range(8)), replace(jobs[1], new=False, on=range(8, 16))]
    within = policy.decide(a_snapshot(jobs=running, nodes=(8, 8), now=10.0, memory=at_boundary.memory))

    assert at_boundary.reluctance is not None
    assert within.reluctance is not None
    assert at_boundary.reluctance.tolist() == [RATHER_NOT, 0]
    assert within.reluctance.tolist() == [NEVER, RATHER_NOT]


def test_the_solver_finds_room_where_greedy_planning_does_not() -> None:
    jobs = [on(2, 200, deadline=300), on(2, 100, deadline=200), on(1, 200, deadline=200)]
    workload = a_workload(jobs=jobs, nodes=(4,))

    greedy, solved = (replayed(workload, with_lease(policy)) for policy in (CHRONUS_GREEDY, CHRONUS))

    assert np.isfinite(greedy.promised).tolist() == [True, True, False]
    assert np.isfinite(solved.promised).tolist() == [True, True, True]
    assert solved.met.all()


def test_after_the_loss_of_a_node_the_earlier_deadline_is_served_first() -> None:
    policy = with_lease(CHRONUS_GREEDY)
    jobs = [on(8, 100, deadline=200), on(8, 100, deadline=100)]
    newcomers = [replace(job, new=True) for job in jobs]
    before = policy.decide(a_snapshot(jobs=newcomers, nodes=(8, 8)))

    after = policy.decide(a_snapshot(jobs=jobs, nodes=(8, 8), lost=[1], now=1.0, memory=before.memory))

    assert before.sizes.tolist() == [8, 8]
    assert after.sizes.tolist() == [0, 8]


def test_a_plan_for_lost_nodes_is_made_anew() -> None:
    policy = with_lease(CHRONUS_GREEDY)
    jobs = [on(8, 100, deadline=400), on(8, 100, deadline=400)]
    before = policy.decide(a_snapshot(jobs=[replace(job, new=True) for job in jobs], nodes=(8, 8)))

    after = policy.decide(a_snapshot(jobs=jobs, nodes=(8, 8), lost=[1], now=100.0, memory=before.memory))

    assert before.memory.planned.tolist() == [3, 3]
    assert sorted(after.memory.planned.tolist()) == [2, 3]


def test_a_job_that_lost_time_gets_more_leases() -> None:
    policy = with_lease(CHRONUS_GREEDY)
    before = policy.decide(a_snapshot(jobs=[replace(on(8, 200, deadline=600), new=True)]))

    after = policy.decide(a_snapshot(jobs=[on(8, 250, deadline=600)], now=100.0, memory=before.memory))

    assert before.memory.planned.tolist() == [5, 4]
    assert after.memory.planned.tolist() == [5, 4, 3]


def test_a_job_that_ran_ahead_gives_back_its_earliest_leases() -> None:
    policy = with_lease(CHRONUS_GREEDY)
    before = policy.decide(a_snapshot(jobs=[replace(on(8, 200, deadline=600), new=True)]))

    after = policy.decide(a_snapshot(jobs=[on(8, 100, deadline=600)], now=100.0, memory=before.memory))

    assert after.memory.planned.tolist() == [5]


def test_what_the_holder_of_a_lease_does_until_its_end_needs_no_other_lease() -> None:
    snap = a_snapshot(jobs=[replace(on(4, 150), on=range(4)), replace(on(4, 150), on=range(4, 8))], now=150.0)
    holds = np.array([True, False])

    assert work_of(snap, clock_at(150.0, LEASE, 1), holds).need.tolist() == [1, 2]


@both
def test_with_another_lease_length_everything_begins_anew(policy: Policy) -> None:
    jobs = [replace(on(8, 100, deadline=1000), new=True)]
    memory = with_lease(policy).decide(a_snapshot(jobs=jobs)).memory
    snap = a_snapshot(jobs=[replace(jobs[0], new=False)], now=50.0, memory=memory)

    assert len(with_lease(policy).decide(snap).memory.number) == 1
    assert len(with_lease(policy, 77.0).decide(snap).memory.number) == 0


@pytest.mark.parametrize("seconds", [0.0, 0.001, -1.0, np.inf, np.nan])
def test_a_lease_has_a_length(seconds: float) -> None:
    with pytest.raises(ValueError, match="at least 1 second"):
        with_lease(CHRONUS_GREEDY, seconds)


@both
@settings(max_examples=60)
@given(workload=workloads(powers_only=True), cost=costs, lease=lengths, margin=st.sampled_from([0.0, 0.1]))
def test_no_promise_is_broken_whatever_the_length_of_a_lease(
    policy: Policy, workload: Workload, cost: Seconds, lease: float, margin: float
) -> None:
    outcome = replayed(workload, with_lease(policy, lease), cost=cost, rules=Rules(margin=margin))

    promised = np.isfinite(outcome.promised)
    assert (outcome.finished <= outcome.promised)[promised].all()


@both
@settings(max_examples=40)
@given(workload=workloads(), lease=lengths, placement=st.sampled_from([Placement.PACK, Placement.SPREAD]))
def test_no_promise_is_broken_at_odd_sizes_where_jobs_may_be_split(
    policy: Policy, workload: Workload, lease: float, placement: Placement
) -> None:
    rules = Rules(placement=placement, margin=0.0)

    outcome = replayed(workload, with_lease(policy, lease), cost=as_usual, rules=rules)

    promised = np.isfinite(outcome.promised)
    assert (outcome.finished <= outcome.promised)[promised].all()


@both
@settings(max_examples=40)
@given(jobs=submissions_of(powers_only=True), lease=lengths)
def test_within_a_lease_jobs_start_and_end_but_nobody_is_stopped_or_moved(
    policy: Policy, jobs: list[AJob], lease: float
) -> None:
    for snap, done in rounds_of(a_workload(jobs=jobs), with_lease(policy, lease), as_usual):
        if not clock_at(snap.now, lease, BEFORE_ALL).opens:
            assert {action.kind for action in done.actions} <= {ActionKind.START}
