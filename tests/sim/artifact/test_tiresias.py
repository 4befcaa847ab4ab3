"""The reference's Tiresias: three queues by service, and the quirks that decide its results."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.sim.artifact.reference import Run, Totals, figure_10, totals
from tests.sim.artifact.stories import LINEAR, Submitted, a_story, told

from tenuto.model.cluster import Cluster
from tenuto.sim.artifact import Revision, replay
from tenuto.sim.outcome import Outcome

ONE_GPU = Cluster.regular("one", nodes=1, slots=1)


def on_one(jobs: list[Submitted]) -> Outcome:
    return told(jobs, "tiresias", cluster=ONE_GPU)


def test_a_job_that_has_had_its_service_makes_way_for_a_newcomer() -> None:
    outcome = on_one([Submitted(steps=10_000), Submitted(at=100, steps=60)])

    # 3250 s of service are reached at 3254 s, for the start took 4 s.
    assert outcome.started.tolist() == [0, 3254]
    assert outcome.finished.tolist() == [10_068, 3314]
    assert outcome.preempted.tolist() == [1, 0]
    assert outcome.changes.tolist() == [3, 1]
    assert outcome.events.time.tolist() == [0, 100, 3254, 3314, 7264, 7324, 10_068]


def test_jobs_of_one_queue_run_in_the_order_of_their_arrival() -> None:
    outcome = on_one([Submitted(), Submitted(at=100), Submitted(at=200)])

    assert outcome.started.tolist() == [0, 604, 1204]


def test_a_start_is_paid_only_if_something_happens_before_the_end() -> None:
    alone = on_one([Submitted()])
    disturbed = on_one([Submitted(), Submitted(at=100)])

    assert alone.finished.tolist() == [600]
    assert disturbed.finished.tolist() == [604, 1204]


def test_the_service_of_a_large_job_is_looked_at_too_late() -> None:
    """Q15: 8 GPUs have served 3250 s at 417 s, but the guess was made with seconds for GPU-seconds."""
    outcome = told([Submitted(steps=2000, requested=8), Submitted(at=100, requested=8)], "tiresias")

    assert outcome.started.tolist() == [0, 495]


def test_a_small_job_passes_a_large_one_that_finds_no_room() -> None:
    jobs = [Submitted(requested=4), Submitted(requested=8), Submitted(requested=4)]

    outcome = told(jobs, "tiresias")

    assert outcome.started.tolist() == [0, 600, 0]


def test_a_large_newcomer_stops_small_jobs_of_a_lower_queue() -> None:
    jobs = [Submitted(steps=20_000), Submitted(at=5000, requested=8, steps=300)]

    outcome = told(jobs, "tiresias")

    assert outcome.started.tolist() == [0, 5000]
    assert outcome.preempted.tolist() == [1, 0]


def test_a_job_ends_when_it_was_foreseen_even_if_its_event_is_later() -> None:
    outcome = on_one([Submitted(steps=30, deadline=30)])

    assert outcome.finished.tolist() == [30]
    assert outcome.met.tolist() == [True]
    assert outcome.events.time.tolist() == [0, 60]


def test_ends_within_one_slot_are_one_event_today_and_were_several_in_2022() -> None:
    workload = a_story([Submitted(steps=30), Submitted(steps=40), Submitted(steps=40)])

    today = replay(workload, "tiresias", slot=60, revision=Revision.HEAD)
    then = replay(workload, "tiresias", slot=60, revision=Revision.R2022)

    assert today.events.time.tolist() == [0, 60]
    assert today.finished.tolist() == [30, 40, 40]
    # The second event charges those that are left for their start.
    assert then.events.time.tolist() == [0, 60, 120]
    assert then.finished.tolist() == [30, 44, 44]


def test_all_jobs_restart_after_as_many_rounds_as_the_slot_has_seconds() -> None:
    """Q5: at the fourth event everybody pays 31 s, which the ends foresee."""
    jobs = [Submitted(at=100 * k, steps=1000) for k in range(5)]

    assert told(jobs, "tiresias", slot=60).finished[:2].tolist() == [1004, 1104]
    assert told(jobs, "tiresias", slot=3).finished[:2].tolist() == [1035, 1135]


def test_arrivals_within_a_slot_are_let_in_together_unless_they_are_the_last() -> None:
    jobs = [Submitted(at=at) for at in (0, 10, 50, 500, 510)]

    assert told(jobs, "tiresias").started.tolist() == [0, 60, 60, 500, 510]


def test_layouts_pack_the_running_jobs_afresh_the_largest_first() -> None:
    jobs = [Submitted(requested=1), Submitted(at=100, requested=4), Submitted(at=200, requested=2)]

    layouts = told(jobs, "tiresias", layouts=True).events.layouts

    assert layouts is not None
    assert [layout.tolist() for layout in layouts[:3]] == [
        [0, -1, -1, -1, -1, -1, -1, -1],
        [1, 1, 1, 1, 0, -1, -1, -1],
        [1, 1, 1, 1, 2, 2, 0, -1],
    ]


def test_layouts_hold_every_job_on_as_many_gpus_as_are_busy() -> None:
    cluster = Cluster.regular("two switches", switches=2, nodes=2, slots=4)
    jobs = [
        Submitted(at=90 * k, steps=500 + 197 * k, rates=LINEAR, requested=(1, 2, 8, 4)[k % 4])
        for k in range(24)
    ]

    outcome = told(jobs, "tiresias", cluster=cluster, layouts=True)

    events = outcome.events
    assert events.layouts is not None
    assert [np.count_nonzero(layout >= 0) for layout in events.layouts] == events.busy.tolist()
    assert [len(np.unique(layout[layout >= 0])) for layout in events.layouts] == events.running.tolist()
    assert events.busy.max() <= cluster.total
    assert outcome.preempted.max() > 0
    assert np.array_equal(told(jobs, "tiresias", cluster=cluster).finished, outcome.finished)


def test_totals_of_figure_10() -> None:
    workload = figure_10()

    outcome = replay(workload, "tiresias", slot=240, revision=Revision.HEAD)

    assert totals(workload, outcome) == Totals(100, 5104537, 740161, 284)
    assert outcome.events.time[:4].tolist() == [0, 3250, 3490, 3934]


def test_totals_of_figure_8a(shared: Path) -> None:
    run = Run("figure8a/dlas-gpu", "elasticVpollux_e", "n16g4", 60, "t4")

    assert totals(*run.replay(shared)) == Totals(56, 26658875, 4607493, 482)


@pytest.mark.parametrize(
    ("trace", "cluster", "met"), [("cluster10", "n32g8", 124), ("philly_103959", "n4g8", 284)]
)
def test_as_many_deadlines_are_met_as_in_the_second_implementation(
    shared: Path, trace: str, cluster: str, met: int
) -> None:
    run = Run("unpublished/dlas-gpu", trace, cluster, 60)

    assert totals(*run.replay(shared)).met == met
