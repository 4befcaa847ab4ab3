"""Themis as in the reference: golden results, and the quirks of its rounds as short stories."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from tests.sim.artifact.reference import Run, decided, figure_10, reference_decided
from tests.sim.artifact.stories import Submitted, told

from tenuto.errors import InputInvalid
from tenuto.sim.artifact import Revision, replay


@pytest.mark.parametrize(
    "run",
    [
        Run("figure10/themis", "100jobs_1500lam", "n16g8", 240),
        Run("figure11_0.3/themis", "200jobs_900lam_0.3", "n8g8", 240),
        Run("functional_resnet_cifar/themis", "resnet_cifar_trace", "n1g8", 240),
    ],
    ids=lambda run: run.name,
)
def test_every_job_fares_as_in_the_reference(shared: Path, run: Run) -> None:
    workload, outcome = run.replay(shared)

    assert decided(workload, outcome) == reference_decided(shared, run)


def test_figure_10_ends_as_in_the_log_that_its_authors_published(shared: Path) -> None:
    outcome = replay(figure_10(), "themis", slot=240, revision=Revision.HEAD)

    with (shared / "reference/figure10-shipped/themis/job.csv").open(newline="") as file:
        published = {int(row["job_id"]): float(row["end_time"]) for row in csv.DictReader(file)}
    assert published == dict(enumerate(outcome.finished.tolist()))


def test_figure_10_has_a_round_every_slot_even_when_idle() -> None:
    workload = figure_10()

    outcome = replay(workload, "themis", slot=240, revision=Revision.HEAD)

    assert np.count_nonzero(outcome.met) == 99
    assert np.sum(outcome.finished - workload.trace.submitted) == 5124294
    assert outcome.finished.max() == 740400
    assert np.array_equal(outcome.events.time, np.arange(3086) * 240.0)


def test_cluster_10_meets_as_many_deadlines_as_the_specification_says(shared: Path) -> None:
    run = Run("figure8b_cluster10/themis", "cluster10", "n32g8", 60)

    _, outcome = run.replay(shared)

    assert np.count_nonzero(outcome.met) == 123


def test_figure_8a_meets_as_many_deadlines_as_published(shared: Path) -> None:
    """61 of 195. The reference's own run here was stopped with 48 met and 106 missed; its solver had run out of
    digits in nearly every round by then, so that another one need not agree about every job."""
    run = Run("figure8a/themis", "elasticVpollux_e", "n16g4", 60, "t4")

    _, outcome = run.replay(shared)

    ended = outcome.finished <= 4002345
    assert np.count_nonzero(outcome.met) == 61
    assert np.count_nonzero(outcome.met & ended) == 48
    assert abs(np.count_nonzero(~outcome.met & ended) - 106) <= 1


def test_a_job_ends_with_the_round_in_which_its_work_is_done() -> None:
    outcome = told([Submitted(steps=61, deadline=119), Submitted(steps=61, deadline=120)], "themis")

    assert outcome.finished.tolist() == [120, 120]
    assert outcome.met.tolist() == [False, True]


def test_a_job_that_comes_between_two_rounds_waits_for_the_next() -> None:
    outcome = told([Submitted(), Submitted(at=61)], "themis")

    assert outcome.started.tolist() == [0, 120]


def test_jobs_that_do_not_fit_together_take_turns() -> None:
    """Each needs ten rounds on all eight GPUs; whoever ran in one round is less behind in the next."""
    jobs = [Submitted(steps=4800, requested=8), Submitted(steps=4800, requested=8)]

    outcome = told(jobs, "themis")

    assert outcome.events.busy.max() == 8
    assert outcome.preempted.sum() > 1
    assert outcome.finished.max() == 1200


def test_a_small_job_uses_what_a_large_one_leaves() -> None:
    jobs = [Submitted(requested=8), Submitted(at=60, requested=8), Submitted(at=60), Submitted(at=60)]

    outcome = told(jobs, "themis")

    assert (outcome.events.busy <= 8).all()
    assert not np.isnan(outcome.finished).any()


def test_layouts_hold_every_running_job_on_as_many_gpus_as_it_asks_for() -> None:
    jobs = [Submitted(requested=size) for size in (4, 1, 2, 4, 1)]

    outcome = told(jobs, "themis", layouts=True)

    assert outcome.events.layouts is not None
    for layout, busy in zip(outcome.events.layouts, outcome.events.busy.tolist(), strict=True):
        placed, gpus = np.unique(layout[layout >= 0], return_counts=True)
        assert gpus.sum() == busy
        assert [jobs[job].requested for job in placed] == gpus.tolist()


def test_a_size_that_the_reference_does_not_know_is_refused() -> None:
    with pytest.raises(InputInvalid, match=r"asks for 3 slots.*64 only"):
        told([Submitted(requested=3, rates={1: 1.0, 3: 2.0})], "themis")
