"""From jobs of the past to a workload: rows, curves under stable names, and who does not fit."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.builders import a_cluster, replayed

from tenuto.forecast.past import LeftOut, TraceJob
from tenuto.forecast.trace_of import curve_name, told
from tenuto.plugins import policy_called

ZERO = 1_750_000_000.25
ONE_JOB = TraceJob(
    id="zadanie",
    arrived=ZERO,
    steps=100.0,
    deadline=ZERO + 500.0,
    batch=64,
    wanted=2,
    rates=((1, 1.0), (2, 1.9)),
)


def test_times_count_from_the_second_of_the_first_arrival() -> None:
    later = replace(ONE_JOB, id="później", arrived=ZERO + 30.5, deadline=None)

    made = told([later, ONE_JOB], a_cluster([4]), "listopad")

    assert made.zero == 1_750_000_000.0
    assert made.workload.trace.ids == ("zadanie", "później")
    assert made.workload.trace.submitted.tolist() == [0.25, 30.75]
    assert made.workload.trace.deadline.tolist() == [500.25, float("inf")]
    assert made.workload.trace.best_effort.tolist() == [False, True]


def test_equal_curves_have_one_name_and_others_another() -> None:
    names = {
        curve_name(rates) for rates in (((1, 1.0), (2, 1.9)), ((1, 1.0), (2, 1.9)), ((1, 1.0), (2, 1.8)))
    }

    assert len(names) == 2
    assert curve_name(((1, 1.0), (2, 1.9))) == "curve-3641740285"


def test_a_job_asks_for_the_largest_size_that_it_wants_and_the_cluster_has() -> None:
    large = replace(ONE_JOB, id="duże", wanted=8, rates=((1, 1.0), (2, 1.9), (8, 6.0)))

    made = told([large], a_cluster([2, 2]), "mały")

    assert made.workload.trace.requested.tolist() == [2]
    assert made.workload.trace.duration.tolist() == [100.0 / 1.9]


def test_who_is_left_out_is_counted_by_reason() -> None:
    huge = replace(ONE_JOB, id="ogromne", rates=((16, 1.0),))

    made = told([ONE_JOB, huge, LeftOut.NEVER_RAN, "a_reason_of_tomorrow"], a_cluster([4]), "reszta")

    assert made.left_out == {"fits_nowhere": 1, "never_ran": 1, "a_reason_of_tomorrow": 1}
    assert len(made.workload.trace) == 1


def test_nothing_to_tell_of_is_no_workload() -> None:
    with pytest.raises(ValueError, match="no job"):
        told([LeftOut.WAITS], a_cluster([4]), "pusto")


def test_the_simulator_runs_what_comes_out() -> None:
    outcome = replayed(told([ONE_JOB], a_cluster([4]), "listopad").workload, policy_called("fifo"))

    assert outcome.met.tolist() == [True]
