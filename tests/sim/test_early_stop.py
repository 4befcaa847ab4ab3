"""Ending a replay once a count has reached a number."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from tests.builders import a_job, a_workload

from tenuto.errors import InputInvalid
from tenuto.model.cost import Cost
from tenuto.model.snapshot import Rules
from tenuto.policy.base import Policy
from tenuto.policy.elasticflow import ELASTICFLOW
from tenuto.policy.fifo import FIFO
from tenuto.sim.early_stop import METRICS, EarlyStop
from tenuto.sim.loop import simulate
from tenuto.sim.outcome import Outcome

# Ten jobs of 10 s one after the other on the only slot, with a deadline for all but every third.
ONE_BY_ONE = a_workload(
    jobs=[a_job(arrived=k, left=10, curve={1: 1.0}, deadline=inf if k % 3 == 2 else 55) for k in range(10)],
    nodes=(1,),
)


def until(condition: str, policy: Policy = FIFO) -> Outcome:
    return simulate(
        ONE_BY_ONE,
        policy,
        cost=Cost.by_size(ONE_BY_ONE.sizes, lambda _: 0.0),
        rules=Rules(margin=0.0),
        early_stop=EarlyStop.parse(condition),
    )


def finished(outcome: Outcome) -> int:
    return int(np.count_nonzero(~np.isnan(outcome.finished)))


def test_it_stops_at_the_event_that_reaches_the_number() -> None:
    assert finished(until("finished>=4")) == 4


def test_time_counts_from_the_first_submission() -> None:
    assert until("time>=25").events.time[-1] == pytest.approx(30)


@pytest.mark.parametrize("number", [1, 2, 3])
def test_jobs_without_a_deadline_are_never_met(number: int) -> None:
    outcome = until(f"met>={number}")

    assert np.count_nonzero(outcome.met) == number
    assert finished(outcome) >= number  # and others beside them


def test_missed_counts_late_finishes() -> None:
    outcome = until("missed>=2")

    late = (outcome.finished > ONE_BY_ONE.trace.deadline).tolist()
    assert late.count(True) == 2
    assert finished(outcome) < 10


def test_declined_counts_refusals() -> None:
    outcome = until("declined>=1", ELASTICFLOW)

    assert sum(bool(reason) for reason in outcome.reason) == 1
    assert finished(outcome) < 10


@pytest.mark.parametrize("metric", METRICS)
def test_a_number_out_of_reach_changes_nothing(metric: str) -> None:
    assert finished(until(f"{metric}>=100000")) == 10


def test_blanks_and_fractions_are_understood() -> None:
    assert EarlyStop.parse(" time >= 0.5 ") == EarlyStop("time", 0.5)


@pytest.mark.parametrize(
    "text",
    ["", "finished", "finished>5", "finished>=", "finished>=-1", "finished>=many", "jobs>=5", "5>=met"],
)
def test_what_is_no_condition_is_refused_with_the_metrics_that_there_are(text: str) -> None:
    with pytest.raises(InputInvalid) as caught:
        EarlyStop.parse(text)

    assert repr(text) in caught.value.problem
    assert all(metric in caught.value.remedy for metric in METRICS)
