"""The live platform decides exactly as the simulator does, and keeps its promises."""

from __future__ import annotations

import pytest
from tests.live.lockstep import side_by_side, some_jobs, without_deadlines

from tenuto.policy.registry import POLICIES


def test_forty_jobs_with_deadlines_are_decided_as_in_the_simulator_and_no_promise_is_broken() -> None:
    assert max(side_by_side(some_jobs(40, seed=4), "elasticflow")) > 80


@pytest.mark.big
def test_two_hundred_jobs_with_deadlines_are_decided_as_in_the_simulator_and_no_promise_is_broken() -> None:
    assert max(side_by_side(some_jobs(200, seed=5), "elasticflow")) > 250


@pytest.mark.parametrize("policy", [name for name in POLICIES if name != "elasticflow"])
def test_every_policy_decides_live_as_in_the_simulator(policy: str) -> None:
    assert max(side_by_side(without_deadlines(some_jobs(10, seed=6), every=3), policy)) >= 10
