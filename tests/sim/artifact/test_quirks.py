"""The reference's quirks, each as a short story."""

from __future__ import annotations

from math import inf

import numpy as np
import pytest
from tests.sim.artifact.stories import LINEAR, Submitted, told

from tenuto.model.cluster import Cluster

ONE_GPU = Cluster.regular("one", nodes=1, slots=1)
TWO_GPUS = Cluster.regular("two", nodes=1, slots=2)
SINGLE = {1: 1.0}


def test_a_lone_job_pays_for_its_start_and_ends_at_a_whole_slot() -> None:
    """Q24: 600 steps on 8 GPUs take 75 s: two slots of 60 s, and 10 s of overhead."""
    outcome = told([Submitted(steps=600)])

    assert outcome.finished.tolist() == [130.0]
    assert outcome.last_size.tolist() == [8]


def test_the_deadline_counts_without_slot_and_overhead_only_with_admission() -> None:
    """Q7: the work is done after 75 s, the job ends at 130 s."""
    jobs = [Submitted(steps=600, deadline=100)]

    assert told(jobs, "elasticflow").met.tolist() == [True]
    assert told(jobs, "elasticflow-no-admission").met.tolist() == [False]


def test_jobs_that_arrive_within_one_slot_are_declined_together() -> None:
    """Q6: the second could run, but the third cannot be in time."""
    outcome = told(
        [
            Submitted(at=0, steps=6000, deadline=100_000),
            Submitted(at=10, steps=60, deadline=100_000),
            Submitted(at=20, steps=60_000, deadline=1000),
        ]
    )

    assert outcome.admitted.tolist() == [True, False, False]
    assert outcome.reason == ("", "deadline_infeasible", "deadline_infeasible")


def test_best_effort_jobs_are_admitted_even_in_a_declined_batch() -> None:
    outcome = told([Submitted(steps=60_000, deadline=100), Submitted(steps=60, deadline=inf)])

    assert outcome.admitted.tolist() == [False, True]
    assert np.isnan(outcome.finished[0])
    assert outcome.finished[1] > 0
    assert outcome.met.tolist() == [False, False]


def test_edf_admits_one_by_one() -> None:
    outcome = told(
        [
            Submitted(at=0, steps=60, deadline=100_000),
            Submitted(at=0, steps=60_000, deadline=100),
            Submitted(at=0, steps=60, deadline=100_000),
        ],
        "edf-admission",
    )

    assert outcome.admitted.tolist() == [True, False, True]


def test_edf_scales_for_free() -> None:
    """Q8: 600 steps on 8 GPUs take 75 s, to the second."""
    assert told([Submitted(steps=600)], "edf").finished.tolist() == [75.0]


def test_edf_runs_a_job_beyond_the_peak_of_its_curve() -> None:
    """Q9: two GPUs would be three times as fast."""
    outcome = told([Submitted(steps=600, rates={1: 1.0, 2: 3.0, 4: 1.5, 8: 1.0})], "edf")

    assert outcome.last_size.tolist() == [8]
    assert outcome.finished.tolist() == [600.0]


def test_an_event_is_handled_one_slot_after_the_previous_one_at_the_earliest() -> None:
    """Q23: the second job waits until 60 s for its admission."""
    outcome = told([Submitted(at=0), Submitted(at=1), Submitted(at=500)])

    assert outcome.started.tolist() == [0.0, 60.0, 500.0]


def test_every_event_costs_every_running_job() -> None:
    """Q22: an arrival delays the first job, although its single GPU stays its own."""
    alone = told([Submitted(steps=600, rates=SINGLE)], cluster=TWO_GPUS)
    together = told(
        [Submitted(steps=600, rates=SINGLE), Submitted(at=300, steps=60, rates=SINGLE)], cluster=TWO_GPUS
    )

    assert alone.finished[0] == 604
    assert together.finished[0] > alone.finished[0]


def test_without_admission_everybody_waits_for_the_earlier_deadline() -> None:
    outcome = told(
        [Submitted(steps=600, rates=SINGLE, deadline=5000), Submitted(steps=600, rates=SINGLE, deadline=600)],
        "edf",
        cluster=ONE_GPU,
    )

    assert outcome.finished.tolist() == [1200.0, 600.0]
    assert outcome.met.tolist() == [True, True]


@pytest.mark.parametrize("policy", ["elasticflow", "elasticflow-no-admission", "edf", "edf-admission"])
def test_layouts_hold_every_job_on_as_many_gpus_as_are_busy(policy: str) -> None:
    cluster = Cluster.regular("two switches", switches=2, nodes=2, slots=4)
    jobs = [Submitted(at=90 * k, steps=500 + 97 * k, rates=LINEAR, deadline=4000 + 50 * k) for k in range(12)]

    events = told(jobs, policy, cluster=cluster, layouts=True).events

    assert events.layouts is not None
    assert [np.count_nonzero(layout >= 0) for layout in events.layouts] == events.busy.tolist()
    assert [len(np.unique(layout[layout >= 0])) for layout in events.layouts] == events.running.tolist()
    assert events.busy.max() <= cluster.total
