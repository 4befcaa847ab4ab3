"""A trace in virtual time on a whole platform: it does exactly what the simulator said it would."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.rehearsal.traces import a_workload_of

from tenuto.model.rules import Placement
from tenuto.plugins import policy_called
from tenuto.policy.registry import POLICIES
from tenuto.rehearsal.rehearse import Rehearsed, rehearse
from tenuto.rehearsal.score import score_of
from tenuto.server.scene import Rule
from tenuto.settings import Scheduling
from tenuto.sim.workload import Workload
from tenuto.tuning import tuned

LONG_LEASES: Mapping[str, Mapping[str, Any]] = {
    "chronus": {"lease": 3600.0},
    "chronus-greedy": {"lease": 3600.0},
}
"""A policy that wants to be asked every four minutes takes its time over a trace of days."""
COARSE = Scheduling(interval=600.0, margin=0.1, start_cost=5.0, rescale_cost=3.0)


def played(workload: Workload, scheduling: Scheduling, policy: str, **tuning: Any) -> Rehearsed:
    rule = Rule(replace(scheduling, policy=policy), tuning)
    return rehearse(score_of(workload), tuned(policy_called(policy), tuning), rule, lambda _done, _all: None)


def finished(done: Rehearsed) -> int:
    return sum(walk.finished is not None for walk in done.live)


@pytest.mark.parametrize("policy", POLICIES)
def test_forty_jobs_go_live_exactly_as_in_the_simulator(policy: str) -> None:
    done = played(a_workload_of(40, "n4g8"), COARSE, policy, **LONG_LEASES.get(policy, {}))

    assert not done.differences, str(done.parting)
    assert finished(done) + sum(not walk.admitted for walk in done.live) == 40
    assert sum(len(walk.changes) for walk in done.live) > 40


@pytest.mark.big
@pytest.mark.parametrize("policy", POLICIES)
def test_two_hundred_jobs_go_live_exactly_as_in_the_simulator(policy: str) -> None:
    scheduling = Scheduling(interval=60.0, margin=0.0)

    done = played(a_workload_of(200, "n16g8"), scheduling, policy)

    assert not done.differences, str(done.parting)
    assert len(done.live) == 200


@pytest.mark.parametrize(
    "terms",
    [
        {"start_cost": 0.0, "rescale_cost": 0.0},
        {"margin": 0.5, "interval": 0.0},
        {"placement": Placement.RANDOM, "seed": 7},
        {"placement": Placement.SPREAD},
    ],
    ids=["free of charge", "a wide margin", "by chance", "spread"],
)
def test_whatever_the_terms_are_both_keep_to_them(terms: dict[str, Any]) -> None:
    done = played(a_workload_of(12, "n2g8"), replace(COARSE, **terms), "elasticflow")

    assert not done.differences, str(done.parting)


def test_the_same_ten_jobs_are_accepted_and_declined_live_and_simulated() -> None:
    done = played(a_workload_of(10, "n1g8", "demo-10"), Scheduling(interval=60.0, margin=0.0), "elasticflow")

    declined = {walk.job for walk in done.live if not walk.admitted}
    assert declined == {walk.job for walk in done.simulated if not walk.admitted}
    assert 0 < len(declined) < len(done.live)


def test_ten_jobs_of_hours_are_told_in_the_time_of_their_trace() -> None:
    done = played(a_workload_of(10, "n2g8", "demo-10"), Scheduling(), "fifo")

    ends = [walk.finished for walk in done.live if walk.finished is not None]
    assert max(ends) > 3 * 3600
    assert [walk.duration for walk in done.live] == [walk.duration for walk in done.simulated]


def test_nothing_of_the_platform_remains(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    played(a_workload_of(2, "n1g8", "demo-10"), COARSE, "fifo")

    assert list(tmp_path.iterdir()) == []
