"""Ten training jobs with deadlines, under elasticflow on CPU slots: every promise is kept."""

from __future__ import annotations

import pytest
from benchmarks.live.jobs import SLOTS, TRACE, jobs, speed
from benchmarks.live.run import run_live, run_simulated

from tenuto.sim.read_trace import read_trace
from tenuto.workloads.registry import WORKLOADS


def test_the_simulator_gets_the_same_jobs_as_the_platform() -> None:
    trace = read_trace(TRACE)

    assert len(jobs()) == 10
    assert {job.model for job in jobs()} <= WORKLOADS.keys()
    for job, duration in zip(jobs(), trace.duration.tolist(), strict=True):
        assert job.requested <= SLOTS
        assert job.steps / speed(job.batch, job.requested) == pytest.approx(duration, abs=0.1)


def test_in_the_simulator_no_promise_is_broken_and_some_jobs_are_declined() -> None:
    replayed = run_simulated("elasticflow")

    assert 0 < replayed.met == replayed.admitted < replayed.of


@pytest.mark.big
def test_what_the_platform_promises_it_keeps() -> None:
    live = run_live("elasticflow")

    assert live.broken == ()
    assert live.met == live.admitted > live.of / 2
    assert live.rescales > 0
