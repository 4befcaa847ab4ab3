"""ElasticFlow's stories: admission, shares, spare slots, best effort."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from tests.builders import FLATTENING, a_job, a_snapshot, a_workload, a_world, as_usual, replayed

from tenuto.model.plan import Answer, Round, Why
from tenuto.model.snapshot import Rules
from tenuto.policy.elasticflow import ELASTICFLOW, ELASTICFLOW_NO_ADMISSION
from tenuto.rounds.round import run_round

ALL_OR_NOTHING = {8: 8.0}


def slots_of(result: Round, number: int) -> int:
    return int(np.count_nonzero(result.plan.layout == number))


def test_the_second_of_two_jobs_that_need_everything_is_declined_with_an_earliest_date() -> None:
    both = [a_job(left=800.0, deadline=101.0, curve=ALL_OR_NOTHING, new=True) for _ in range(2)]

    result = run_round(a_snapshot(jobs=both), ELASTICFLOW)

    first, second = result.verdicts[0], result.verdicts[1]
    assert (first.answer, first.promised, first.expected, first.share) == (Answer.ADMITTED, 101.0, 100.0, 8)
    assert (second.answer, second.why, second.earliest) == (
        Answer.DECLINED,
        Why.DEADLINE_INFEASIBLE,
        200.0,
    )
    assert str(second) == "cannot finish by its deadline; 200 could be promised"
    assert slots_of(result, 0) == 8


def test_with_twice_the_time_the_second_is_admitted_too_and_both_are_in_time() -> None:
    both = [a_job(left=800.0, deadline=deadline, curve=ALL_OR_NOTHING) for deadline in (101.0, 202.0)]

    outcome = replayed(a_workload(jobs=both), ELASTICFLOW)

    assert outcome.promised.tolist() == [101.0, 202.0]
    assert outcome.finished.tolist() == pytest.approx([100.0, 200.0])


def test_the_declined_job_would_really_have_been_done_at_the_earliest_date_named() -> None:
    first = a_job(left=800.0, deadline=101.0, curve=ALL_OR_NOTHING)
    second = a_job(left=800.0, deadline=200.5, curve=ALL_OR_NOTHING)

    outcome = replayed(a_workload(jobs=[first, second]), ELASTICFLOW)

    assert outcome.met.tolist() == [True, True]


def test_a_newcomer_never_breaks_a_promise() -> None:
    old = a_job(left=800.0, deadline=115.0, curve=ALL_OR_NOTHING)
    new = a_job(arrived=1.0, left=80.0, deadline=50.0, curve=ALL_OR_NOTHING)

    outcome = replayed(a_workload(jobs=[old, new]), ELASTICFLOW, cost=as_usual)

    assert outcome.admitted.tolist() == [True, False]
    assert outcome.reason == ("", "deadline_infeasible")
    assert outcome.met.tolist() == [True, False]


def test_the_margin_is_part_of_the_promise() -> None:
    job = a_job(left=800.0, deadline=105.0, curve=ALL_OR_NOTHING, new=True)

    without = run_round(a_snapshot(jobs=[job], rules=Rules(margin=0.0)), ELASTICFLOW)
    with_it = run_round(a_snapshot(jobs=[job], rules=Rules(margin=0.1)), ELASTICFLOW)

    assert without.verdicts[0].answer is Answer.ADMITTED
    assert with_it.verdicts[0].earliest == pytest.approx(110.0)


def test_the_cost_of_starting_is_part_of_the_promise() -> None:
    job = a_job(left=800.0, deadline=105.0, curve=ALL_OR_NOTHING, new=True)

    result = run_round(a_snapshot(jobs=[job], cost=as_usual), ELASTICFLOW)

    assert result.verdicts[0].earliest == 110.0


@pytest.mark.parametrize("deadline", [1000.0, inf])
def test_a_job_alone_runs_at_its_best_useful_size(deadline: float) -> None:
    slower_on_eight = {1: 1.0, 2: 1.8, 4: 3.0, 8: 2.9}

    result = run_round(
        a_snapshot(jobs=[a_job(curve=slower_on_eight, deadline=deadline, new=True)]), ELASTICFLOW
    )

    assert slots_of(result, 0) == 4


def test_a_job_alone_on_the_cluster_shrinks_when_a_second_arrives_and_grows_when_it_has_gone() -> None:
    long_one = a_job(left=2000.0, deadline=5000.0, curve=FLATTENING)
    short_one = a_job(arrived=100.0, left=90.0, deadline=300.0, curve=FLATTENING)
    world = a_world(a_workload(jobs=[long_one, short_one]), rules=Rules(margin=0.0, interval=0.0))
    sizes = []

    while (due := world.next_event()) < np.inf:
        world.advance_to(due)
        world.apply(run_round(world.snapshot(), ELASTICFLOW))
        sizes.append(tuple(world.held.tolist()))

    assert sizes == [(8, 0), (4, 4), (8, 0), (0, 0)]


def test_spare_slots_go_where_they_cost_least() -> None:
    """Both run on two; the one that scales well gets the other four of eight."""
    scales = a_job(left=500.0, curve={2: 2.0, 4: 4.0, 6: 5.9}, on=[0, 1])
    hardly = a_job(left=500.0, curve={2: 2.0, 4: 2.1, 6: 2.2}, on=[2, 3])

    result = run_round(a_snapshot(jobs=[hardly, scales], nodes=(8,)), ELASTICFLOW)

    assert (slots_of(result, 0), slots_of(result, 1)) == (2, 6)


def test_best_effort_starves_only_while_promises_need_everything() -> None:
    promised = a_job(left=800.0, deadline=101.0, curve=ALL_OR_NOTHING)
    best_effort = a_job(left=80.0)

    outcome = replayed(a_workload(jobs=[promised, best_effort]), ELASTICFLOW)

    assert outcome.admitted.tolist() == [True, True]
    assert np.isnan(outcome.promised[1])
    assert outcome.started.tolist() == pytest.approx([0.0, 100.0])
    assert outcome.finished.tolist() == pytest.approx([100.0, 110.0])


def test_best_effort_runs_at_once_on_what_a_promise_leaves() -> None:
    promised = a_job(left=400.0, deadline=101.0, curve={4: 4.0})
    best_effort = a_job(left=80.0)

    outcome = replayed(a_workload(jobs=[promised, best_effort]), ELASTICFLOW)

    assert outcome.started.tolist() == [0.0, 0.0]
    assert outcome.finished.tolist() == pytest.approx([100.0, 20.0])


def test_best_effort_gives_way_to_a_newcomer_with_a_deadline() -> None:
    best_effort = a_job(left=800.0)
    promised = a_job(arrived=10.0, left=800.0, deadline=111.0, curve=ALL_OR_NOTHING)

    outcome = replayed(a_workload(jobs=[best_effort, promised]), ELASTICFLOW)

    assert outcome.preempted.tolist() == [1, 0]
    assert outcome.finished.tolist() == pytest.approx([200.0, 110.0])


def test_of_those_who_wait_for_spare_slots_the_urgent_one_is_served_first() -> None:
    jobs = [a_job(curve={8: 8.0}, new=True), a_job(curve={8: 8.0}, new=True, urgent=True)]

    result = run_round(a_snapshot(jobs=jobs), ELASTICFLOW)

    assert slots_of(result, 1) == 8


def test_five_arrivals_within_one_interval_do_not_make_a_running_job_swing() -> None:
    """It shrinks once to make room and grows once when the interval is over; not with every visitor."""
    long_one = a_job(left=3000.0)
    visitors = [a_job(arrived=10.0 * k, left=5.0, curve={1: 1.0}) for k in range(1, 6)]
    workload = a_workload(jobs=[long_one, *visitors])

    calm = replayed(workload, ELASTICFLOW, cost=as_usual, rules=Rules(interval=60.0))
    nervous = replayed(workload, ELASTICFLOW, cost=as_usual, rules=Rules(interval=0.0))

    start, shrink, grow = 1, 1, 1
    assert calm.changes[0] <= start + shrink + grow
    assert nervous.changes[0] > calm.changes[0]


def test_a_reservation_is_remembered_and_kept_against_later_newcomers() -> None:
    snap = a_snapshot(jobs=[a_job(left=800.0, deadline=101.0, curve=ALL_OR_NOTHING, new=True)])
    memory = run_round(snap, ELASTICFLOW).memory

    assert [(segment.begin, segment.end, segment.slots) for segment in memory.of(0)] == [(0.0, 100.0, 8)]
    assert memory.of(1) == ()

    jobs = [
        a_job(left=800.0, deadline=101.0, curve=ALL_OR_NOTHING),
        a_job(left=80.0, deadline=50.0, curve=ALL_OR_NOTHING, new=True),
    ]
    result = run_round(a_snapshot(jobs=jobs, memory=memory), ELASTICFLOW)

    assert result.verdicts[1].answer is Answer.DECLINED
    assert slots_of(result, 0) == 8


def test_without_admission_everybody_is_let_in_and_some_are_late() -> None:
    both = [a_job(left=800.0, deadline=101.0, curve=ALL_OR_NOTHING) for _ in range(2)]

    outcome = replayed(a_workload(jobs=both), ELASTICFLOW_NO_ADMISSION)

    assert outcome.admitted.tolist() == [True, True]
    assert outcome.met.tolist() == [True, False]
    assert np.isnan(outcome.promised).all()
