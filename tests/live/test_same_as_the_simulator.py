"""The live platform decides exactly as the simulator does, and keeps its promises."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.live.lockstep import side_by_side, some_jobs, without_deadlines

from tenuto.policy.registry import POLICIES


def test_forty_jobs_with_deadlines_are_decided_as_in_the_simulator_and_no_promise_is_broken(
    tmp_path: Path,
) -> None:
    with side_by_side(tmp_path, some_jobs(40, seed=4), "elasticflow") as rounds:
        assert max(rounds) > 80


@pytest.mark.big
def test_two_hundred_jobs_with_deadlines_are_decided_as_in_the_simulator_and_no_promise_is_broken(
    tmp_path: Path,
) -> None:
    with side_by_side(tmp_path, some_jobs(200, seed=5), "elasticflow") as rounds:
        assert max(rounds) > 250


@pytest.mark.parametrize("policy", [name for name in POLICIES if name != "elasticflow"])
def test_every_policy_decides_live_as_in_the_simulator(policy: str, tmp_path: Path) -> None:
    with side_by_side(tmp_path, without_deadlines(some_jobs(10, seed=6), every=3), policy) as rounds:
        assert max(rounds) >= 10
