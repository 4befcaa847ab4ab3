"""Chronus as in the reference: the published log row by row, and its leases as short stories."""

from __future__ import annotations

import csv
from math import inf
from pathlib import Path

import numpy as np
import pytest
from tests.sim.artifact.reference import Run, figure_10
from tests.sim.artifact.stories import Submitted, told

from tenuto.errors import InputInvalid
from tenuto.sim.artifact import Revision, replay

FIGURE_8A = Run("figure8a/chronus", "elasticVpollux_e", "n16g4", 60, "t4")


def test_figure_10_is_the_published_log_row_by_row(shared: Path) -> None:
    events = replay(figure_10(), "chronus-greedy", slot=240, revision=Revision.HEAD).events

    path = shared / "reference/figure10-shipped/chronus/time-aware-with-lease_resource.csv"
    with path.open(newline="") as file:
        published = [
            (
                float(row["time"]),
                int(row["full_resource"]) - int(row["free_resource"]),
                int(row["pending_num"]),
                int(row["running_num"]),
                float(row["ce"]),
            )
            for row in csv.DictReader(file)
        ]
    columns = (events.time, events.busy, events.waiting, events.running, events.efficiency)
    assert published == list(zip(*(column.tolist() for column in columns), strict=True))
    assert len(published) == 4027


def test_figure_10_in_numbers() -> None:
    workload = figure_10()

    outcome = replay(workload, "chronus-greedy", slot=240, revision=Revision.HEAD)

    assert outcome.met.all()
    assert np.floor(outcome.finished - workload.trace.submitted).sum() == 7085018
    assert outcome.finished.max() == 966124


def test_figure_8a_without_a_solver(shared: Path) -> None:
    _, outcome = FIGURE_8A.replay(shared)

    assert np.count_nonzero(outcome.met) == 84


def test_with_a_solver_idle_leases_are_used_and_figure_10_is_done_earlier() -> None:
    pytest.importorskip("highspy")
    workload = figure_10()

    lazy = replay(workload, "chronus-greedy", slot=240, revision=Revision.HEAD)
    eager = replay(workload, "chronus", slot=240, revision=Revision.HEAD)

    assert eager.met.all()
    assert eager.finished.sum() < lazy.finished.sum()
    assert len(eager.events.time) < len(lazy.events.time)


def test_a_promised_job_waits_for_the_latest_leases_before_its_deadline() -> None:
    """600 s of work are 3 leases; the deadline is the end of the tenth, so it runs in the eighth to tenth."""
    outcome = told([Submitted(steps=600, deadline=2400)], "chronus-greedy", slot=240)

    assert outcome.started[0] == 7 * 240
    assert outcome.promised[0] == 2400
    assert outcome.met[0]


def test_waiting_before_a_lease_counts_as_work() -> None:
    """600 s of work begin at 1680 and end 361 s later, two starts included: the lease before counts too (Q17)."""
    outcome = told([Submitted(steps=600, deadline=2400)], "chronus-greedy", slot=60)

    assert outcome.finished[0] == 1680 - 240 + 600 + 2 * 0.5


def test_a_job_that_cannot_be_in_time_is_promised_nothing_and_runs_at_once() -> None:
    outcome = told([Submitted(steps=2000, deadline=1000)], "chronus-greedy", slot=240)

    assert np.isnan(outcome.promised[0])
    assert outcome.started[0] == 0
    assert not outcome.met[0]


def test_a_job_is_judged_by_the_last_lease_before_its_deadline() -> None:
    outcome = told([Submitted(steps=600, deadline=2399)], "chronus-greedy", slot=240)

    assert outcome.promised[0] == 2160


def test_a_best_effort_job_is_promised_nothing_and_counts_for_nothing() -> None:
    outcome = told([Submitted(deadline=inf)], "chronus-greedy", slot=240)

    assert np.isnan(outcome.promised[0])
    assert outcome.started[0] == 0
    assert not outcome.met[0]


def test_two_jobs_that_need_the_whole_cluster_share_the_leases() -> None:
    jobs = [Submitted(steps=600, deadline=4800, requested=8) for _ in range(2)]

    outcome = told(jobs, "chronus-greedy", slot=240)

    assert outcome.met.all()
    assert outcome.events.busy.max() == 8


def test_of_two_newcomers_that_do_not_fit_together_the_first_is_promised() -> None:
    jobs = [Submitted(steps=600, deadline=1200, requested=8) for _ in range(2)]

    outcome = told(jobs, "chronus-greedy", slot=240)

    assert np.isnan(outcome.promised).tolist() == [False, True]


def test_steps_are_logged_from_the_beginning_whenever_the_first_job_comes() -> None:
    outcome = told([Submitted(at=1e6, deadline=1e6 + 5000)], "chronus-greedy", slot=60)

    assert outcome.events.time[0] == 0
    assert set(np.diff(outcome.events.time).tolist()) == {60.0}


def test_layouts_hold_every_running_job() -> None:
    jobs = [Submitted(requested=size, deadline=3000) for size in (4, 1, 2, 4, 1)]

    outcome = told(jobs, "chronus-greedy", slot=240, layouts=True)

    assert outcome.events.layouts is not None
    for layout, busy in zip(outcome.events.layouts, outcome.events.busy.tolist(), strict=True):
        assert np.count_nonzero(layout >= 0) == busy


def test_a_slot_must_divide_a_lease() -> None:
    with pytest.raises(InputInvalid, match="does not divide a lease of 240 s"):
        told([Submitted()], "chronus-greedy", slot=100)


def test_without_a_solver_chronus_names_the_policy_that_needs_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tenuto.sim.artifact.chronus.replay.find_spec", lambda name: None)

    with pytest.raises(InputInvalid, match=r"highspy.*chronus-greedy"):
        told([Submitted()], "chronus")
