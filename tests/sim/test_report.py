"""What a replay amounts to, against numbers worked out by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from tests.builders import FLATTENING, a_job, a_workload, replayed

from tenuto.policy.elasticflow import ELASTICFLOW
from tenuto.policy.fifo import FIFO
from tenuto.sim.outcome import Outcome
from tenuto.sim.report import Summary, summarise
from tenuto.sim.workload import Workload

# 90 steps at 1.8 a second, 120 at 3.0 (from second 50, when the slots are free) and 55 at 1.0.
PROMPT = a_job(arrived=0, left=90, curve=FLATTENING, size=2, deadline=60)
LATE = a_job(arrived=10, left=120, curve=FLATTENING, size=4, deadline=80)
WHENEVER = a_job(arrived=95, left=55, curve=FLATTENING, size=1)
THREE = a_workload(jobs=[PROMPT, LATE, WHENEVER], nodes=(4,))


def summary_of(workload: Workload, outcome: Outcome) -> Summary:
    return summarise(workload, outcome, policy="fifo", slot=60.0, compat=None)


def test_three_jobs_on_four_slots_are_summed_up_as_by_hand() -> None:
    outcome = replayed(THREE, FIFO)

    summary = summary_of(THREE, outcome)

    assert outcome.finished.tolist() == pytest.approx([50, 90, 150])
    assert (summary.deadline_jobs, summary.best_effort_jobs) == (2, 1)
    assert (summary.admitted, summary.declined, summary.met, summary.missed) == (2, 0, 1, 1)
    assert summary.ratio == 0.5
    assert summary.mean_jct == pytest.approx((50 + 80 + 55) / 3)
    assert summary.median_jct == pytest.approx(55)
    assert summary.makespan == pytest.approx(150)
    assert summary.mean_allocated == pytest.approx((2 * 50 + 4 * 40 + 0 * 5 + 1 * 55) / 150)
    assert summary.mean_efficiency == pytest.approx((1.8 * 50 + 3.0 * 40 + 0 * 5 + 1.0 * 55) / 4 / 150)


def test_the_makespan_begins_with_the_first_submission() -> None:
    workload = a_workload(jobs=[a_job(arrived=1000, left=50), a_job(arrived=1010, left=50)])

    assert summary_of(workload, replayed(workload, FIFO)).makespan == pytest.approx(60)


def test_the_references_two_counters_are_the_deadlines_met_and_all_others() -> None:
    summary = summary_of(THREE, replayed(THREE, FIFO))

    assert (summary.accepted, summary.not_accepted) == (1, 1)


def test_a_refused_job_is_declined_and_not_missed() -> None:
    hopeless = a_job(left=800, deadline=10)
    workload = a_workload(jobs=[hopeless, a_job(left=80, deadline=100)])

    summary = summary_of(workload, replayed(workload, ELASTICFLOW))

    assert (summary.admitted, summary.declined, summary.met, summary.missed) == (1, 1, 1, 0)
    assert summary.not_accepted == 1
    assert summary.broken == 0


def test_a_late_finish_breaks_a_promise_only_where_one_was_given() -> None:
    outcome = replayed(THREE, FIFO)
    promised = replace(outcome, promised=np.array([60.0, 80.0, np.nan]))

    assert summary_of(THREE, outcome).broken == 0
    assert summary_of(THREE, promised).broken == 1


def test_without_deadlines_there_is_no_ratio() -> None:
    workload = a_workload(jobs=[a_job(left=50), a_job(arrived=5, left=50)])

    summary = summary_of(workload, replayed(workload, FIFO))

    assert (summary.deadline_jobs, summary.best_effort_jobs, summary.ratio) == (0, 2, None)
    assert (summary.admitted, summary.declined, summary.met, summary.missed) == (0, 0, 0, 0)
    assert summary.mean_jct == pytest.approx(50)


def test_where_nothing_finishes_there_is_nothing_to_average() -> None:
    workload = a_workload(jobs=[a_job(left=800, deadline=10)])

    summary = summary_of(workload, replayed(workload, ELASTICFLOW))

    assert summary.ratio == 0.0
    assert (summary.mean_jct, summary.median_jct, summary.makespan) == (None, None, None)
    assert (summary.mean_efficiency, summary.mean_allocated) == (None, None)
