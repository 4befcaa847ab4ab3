"""Forecasts hold as often as they say where every job has a pace of its own."""

from __future__ import annotations

import numpy as np
import pytest
from tests.builders import a_job, a_workload

from tenuto.lab.calibration import Noise, calibrate, share
from tenuto.model.cluster import Cluster
from tenuto.model.cost import Cost
from tenuto.model.job import ANSWERED, STARTED
from tenuto.model.snapshot import Rules
from tenuto.policy.registry import POLICIES
from tenuto.sim.generate import GeneratorOptions, generate
from tenuto.sim.read_profiles import load_profiles
from tenuto.sim.workload import Workload, resolve

LEARNING = 50
"""The first forecasts, which have little to learn from."""


def busy_days(jobs: int, seed: int) -> Workload:
    """Jobs of ten minutes to a week on four nodes, most with deadlines."""
    profiles = load_profiles("a100")
    options = GeneratorOptions(
        jobs=jobs,
        mean_interarrival=3200.0,
        seed=seed,
        max_slots=8,
        min_tightness=1.0,
        max_tightness=3.0,
        best_effort_share=0.3,
    )
    return resolve(generate(options, profiles), profiles, Cluster.regular("calibration", nodes=4, slots=8))


@pytest.mark.parametrize("policy", ["elasticflow", "fifo"])
def test_nine_of_ten_jobs_are_done_when_nine_of_ten_should_be(policy: str) -> None:
    workload = busy_days(jobs=300, seed=1)
    cost = Cost.by_size(workload.sizes, lambda _: 5.0)

    found = calibrate(workload, POLICIES[policy], cost, Rules(), Noise(sigma=0.3, seed=1))

    for moment in (ANSWERED, STARTED):
        checks = found.of(moment, after=LEARNING)
        assert len(checks) > 100
        assert share(checks, late=True) == pytest.approx(0.9, abs=0.06)
        assert share(checks, late=False) == pytest.approx(0.5, abs=0.1)


def test_where_speeds_are_as_curves_say_and_nobody_waits_forecasts_are_exact() -> None:
    workload = a_workload(jobs=[a_job(left=100.0, arrived=1000.0 * number) for number in range(60)])
    cost = Cost.by_size(workload.sizes, lambda _: 0.0)

    exact = calibrate(workload, POLICIES["fifo"], cost, Rules(), Noise(sigma=0.0))

    assert share(exact.of(STARTED), late=False) == 1.0
    assert all(check.told.late == check.told.finish for check in exact.checks)


def test_paces_are_the_same_for_the_same_seed() -> None:
    assert np.array_equal(Noise(0.3, 5).paces(10), Noise(0.3, 5).paces(10))
    assert not np.array_equal(Noise(0.3, 5).paces(10), Noise(0.3, 6).paces(10))
    assert Noise(0.0).paces(3).tolist() == [1.0, 1.0, 1.0]
