"""A trace as the platform gets it."""

from __future__ import annotations

from dataclasses import replace
from math import inf

import numpy as np
import pytest
from tests.builders import AJob, a_job, a_workload

from tenuto.errors import InputInvalid
from tenuto.rehearsal.score import LABEL, Score, score_of
from tenuto.sim.workload import Workload
from tenuto.wire.api import JobIn
from tenuto.wire.problems import validated
from tenuto.wire.quantities import deadline


def a_score(*jobs: AJob, speedup: float = 1.0) -> Score:
    return score_of(a_workload(jobs=jobs), speedup)


def called(workload: Workload, trace: str, *jobs: str) -> Workload:
    return replace(workload, trace=replace(workload.trace, name=trace, ids=jobs))


def test_a_job_is_submitted_with_its_curve_its_steps_and_the_size_it_asks_for() -> None:
    score = a_score(a_job(left=70.5, curve={2: 1.25, 4: 2.0}, size=4, deadline=100.0))

    form = score.form(0, ("train",))

    assert form["workers"] == "2..4"
    assert (form["preferred"], form["total"], form["curve"]) == (4, {"steps": 70.5}, {"2": 1.25, "4": 2.0})
    assert form["deadline"] == "+100s"
    assert form["labels"] == {LABEL: "test"}


def test_who_has_no_deadline_is_submitted_without_one() -> None:
    score = a_score(a_job())

    assert "deadline" not in score.form(0, ("train",))
    assert score.workload.trace.deadline[0] == inf


@pytest.mark.parametrize("then", [17.3, 1e6 / 3, 86_400.1])
def test_both_worlds_read_a_deadline_alike_to_the_last_bit(then: float) -> None:
    score = a_score(a_job(arrived=then, deadline=then + 1234.000_000_123_4))

    now = float(score.workload.trace.submitted[0])
    assert deadline(score.deadlines[0], now) == score.workload.trace.deadline[0]


def test_a_faster_trace_has_earlier_deadlines_and_steeper_curves() -> None:
    score = a_score(a_job(arrived=60.0, deadline=660.0, curve={1: 1.0}), speedup=60.0)

    trace = score.workload.trace
    assert (trace.submitted[0], trace.deadline[0], score.curve(0)) == (1.0, 11.0, {1: 60.0})


def test_names_are_made_fit_for_the_platform_whatever_the_script() -> None:
    workload = called(a_workload(jobs=[a_job(), a_job()]), "ráno/večer", "훈련:1", "***")

    score = score_of(workload)

    forms = [score.form(row, ("train",)) for row in range(2)]
    assert [form["name"] for form in forms] == ["ráno-večer 훈련-1", "ráno-večer trace"]
    assert all(validated(JobIn, form) for form in forms)


def test_a_deadline_that_is_over_at_arrival_is_refused_with_its_line() -> None:
    with pytest.raises(InputInvalid, match="line 3") as refusal:
        a_score(a_job(), a_job(arrived=50.0, deadline=50.0))

    assert "takes no such job: deadline" in str(refusal.value)


def test_what_the_server_would_refuse_is_refused_before_anything_is_played() -> None:
    workload = a_workload(jobs=[a_job(left=1e30, deadline=1e3)])

    with pytest.raises(InputInvalid, match=r"takes no such job: total\.steps"):
        score_of(workload)


def test_the_trace_itself_stays_as_it_is() -> None:
    workload = a_workload(jobs=[a_job(arrived=10.0, deadline=99.5)])
    before = workload.trace.deadline.copy()

    score_of(workload, 10.0)

    np.testing.assert_array_equal(workload.trace.deadline, before)
