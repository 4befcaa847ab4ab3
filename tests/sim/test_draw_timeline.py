"""The picture of who was on which slot when."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.builders import a_job, a_workload

from tenuto.model.cost import Cost
from tenuto.model.snapshot import Rules
from tenuto.policy.fifo import FIFO
from tenuto.sim.draw_timeline import Stretch, Timeline, draw_timelines, stretches
from tenuto.sim.early_stop import EarlyStop
from tenuto.sim.loop import simulate

pytest.importorskip("matplotlib")


def a_timeline(early_stop: EarlyStop | None = None) -> Timeline:
    """Two jobs of four slots side by side, then one of eight."""
    jobs = [
        a_job(left=400.0, size=4),
        a_job(left=800.0, size=4, deadline=150.0),
        a_job(arrived=1.0, left=800.0, size=8, deadline=999.0),
    ]
    workload = a_workload(jobs=jobs)
    outcome = simulate(
        workload,
        FIFO,
        cost=Cost.by_size(workload.sizes, lambda _: 0.0),
        rules=Rules(),
        layouts=True,
        early_stop=early_stop,
    )
    return Timeline("fifo", workload, outcome)


def test_every_stretch_is_a_job_on_neighbouring_slots_until_something_changes() -> None:
    found = sorted(stretches(a_timeline().outcome), key=lambda stretch: stretch.job)

    assert found == [
        Stretch(job=0, begin=0.0, end=100.0, slot=0, slots=4),
        Stretch(job=1, begin=0.0, end=200.0, slot=4, slots=4),
        Stretch(job=2, begin=200.0, end=300.0, slot=0, slots=8),
    ]


def test_who_still_runs_when_a_replay_is_ended_early_is_shown_until_then() -> None:
    found = stretches(a_timeline(EarlyStop("finished", 1)).outcome)

    assert Stretch(job=1, begin=0.0, end=100.0, slot=4, slots=4) in found


def test_the_picture_names_the_jobs_and_counts_the_deadlines(tmp_path: Path) -> None:
    draw_timelines([a_timeline(), a_timeline()], tmp_path / "timeline.svg")

    text = (tmp_path / "timeline.svg").read_text("utf-8")
    assert text.count("<!-- fifo: 1 of 2 deadlines met -->") == 2
    assert all(f"<!-- job-{index} -->" in text for index in range(3))


def test_the_same_replay_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one.svg", "two.svg"):
        draw_timelines([a_timeline()], tmp_path / name)

    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()
