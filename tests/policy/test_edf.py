"""Earliest deadline first, with and without admission."""

from __future__ import annotations

import numpy as np
import pytest
from tests.builders import a_job, a_snapshot, a_workload, as_usual, replayed

from tenuto.model.plan import Answer, Why
from tenuto.policy.edf import EDF, EDF_ADMISSION
from tenuto.rounds.round import run_round


def test_three_jobs_worked_by_hand() -> None:
    """B (due at 50) and C (due at 70) share the eight slots; A (due at 100) waits for both.

    From 0 on B has 4 and C 4. At 20 B is done: C, half done, has 8. At 30 C is done: A has 4, its most.
    """
    a = a_job(left=80.0, deadline=100.0, curve={1: 1.0, 2: 2.0, 4: 4.0})
    b = a_job(left=80.0, deadline=50.0, curve={1: 1.0, 2: 2.0, 4: 4.0})
    c = a_job(left=160.0, deadline=70.0)

    outcome = replayed(a_workload(jobs=[a, b, c]), EDF)

    assert outcome.started.tolist() == [30.0, 0.0, 0.0]
    assert outcome.finished.tolist() == pytest.approx([50.0, 20.0, 30.0])
    assert outcome.met.all()


def test_an_earlier_deadline_takes_slots_from_a_later_one() -> None:
    later = a_job(left=800.0, deadline=1000.0)
    sooner = a_job(arrived=10.0, left=80.0, deadline=30.0)

    outcome = replayed(a_workload(jobs=[later, sooner]), EDF)

    assert outcome.preempted.tolist() == [1, 0]
    assert outcome.finished.tolist() == pytest.approx([110.0, 20.0])


def test_nothing_is_promised_and_late_jobs_run_to_their_end() -> None:
    both = [a_job(left=800.0, deadline=101.0) for _ in range(2)]

    outcome = replayed(a_workload(jobs=both), EDF)

    assert outcome.admitted.all()
    assert np.isnan(outcome.promised).all()
    assert outcome.met.tolist() == [True, False]


def test_a_running_job_grows_only_if_that_saves_time() -> None:
    nearly_done = a_job(left=8.0, deadline=100.0, on=[0, 1, 2, 3])

    result = run_round(a_snapshot(jobs=[nearly_done], cost=as_usual), EDF)

    assert result.actions == ()


def test_with_admission_who_would_make_anybody_late_is_refused() -> None:
    both = [a_job(left=800.0, deadline=101.0, new=True) for _ in range(2)]

    verdicts = run_round(a_snapshot(jobs=both), EDF_ADMISSION).verdicts

    assert verdicts[0].answer is Answer.ADMITTED
    assert (verdicts[1].answer, verdicts[1].why) == (Answer.DECLINED, Why.DEADLINE_INFEASIBLE)
    assert verdicts[1].earliest == 200.0


def test_with_admission_all_that_fit_are_in_time() -> None:
    jobs = [a_job(left=800.0, deadline=deadline) for deadline in (301.0, 101.0, 201.0, 202.0)]

    outcome = replayed(a_workload(jobs=jobs), EDF_ADMISSION)

    assert outcome.admitted.tolist() == [True, True, True, False]
    assert outcome.finished[:3].tolist() == pytest.approx([300.0, 100.0, 200.0])


def test_with_admission_best_effort_takes_what_is_left() -> None:
    promised = a_job(left=400.0, deadline=101.0, curve={4: 4.0})
    best_effort = a_job(left=80.0)

    outcome = replayed(a_workload(jobs=[best_effort, promised]), EDF_ADMISSION)

    assert outcome.finished.tolist() == pytest.approx([20.0, 100.0])
