"""The picture of replays."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.builders import AJob, a_job, a_workload, replayed

from tenuto.errors import InputInvalid
from tenuto.policy.base import Policy
from tenuto.policy.edf import EDF
from tenuto.policy.fifo import FIFO
from tenuto.sim.draw_replay import draw_replays
from tenuto.sim.outcome import Outcome
from tenuto.sim.report import Summary, summarise

pytest.importorskip("matplotlib")

JOBS = (
    a_job(left=7200, deadline=8000),
    a_job(arrived=600, left=7200, deadline=3000, size=8),
    a_job(arrived=900, left=3600),
)


def a_replay(policy: Policy, *jobs: AJob) -> tuple[Summary, Outcome]:
    workload = a_workload(jobs=jobs)
    outcome = replayed(workload, policy)
    return summarise(workload, outcome, policy=policy.name, slot=60.0, compat=None), outcome


def test_the_same_replays_give_the_same_bytes(tmp_path: Path) -> None:
    replays = [a_replay(FIFO, *JOBS), a_replay(EDF, *JOBS)]

    draw_replays(replays, tmp_path / "one.svg")
    draw_replays(replays, tmp_path / "two.svg")

    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()


def test_another_outcome_gives_another_picture(tmp_path: Path) -> None:
    draw_replays([a_replay(FIFO, *JOBS)], tmp_path / "one.svg")
    draw_replays([a_replay(FIFO, *JOBS[:2])], tmp_path / "two.svg")

    # Names inside the file are made of its content; everything else must differ too.
    one, two = (re.sub(r"[\w-]{11,}", "", (tmp_path / name).read_text()) for name in ("one.svg", "two.svg"))
    assert one != two


def test_a_png_is_a_png(tmp_path: Path) -> None:
    draw_replays([a_replay(FIFO, *JOBS)], tmp_path / "bild.PNG")

    assert (tmp_path / "bild.PNG").read_bytes().startswith(b"\x89PNG\r\n")
    assert [path.name for path in tmp_path.iterdir()] == ["bild.PNG"]


@pytest.mark.parametrize("jobs", [(a_job(left=1),), (a_job(left=1, deadline=100),)], ids=["free", "brief"])
def test_a_replay_of_a_second_has_a_picture_too(tmp_path: Path, jobs: tuple[AJob, ...]) -> None:
    draw_replays([a_replay(FIFO, *jobs)], tmp_path / "brief.png")

    assert (tmp_path / "brief.png").stat().st_size > 1000


def test_another_suffix_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputInvalid, match=r"\.pdf") as caught:
        draw_replays([a_replay(FIFO, *JOBS)], tmp_path / "bild.pdf")

    assert ".png or .svg" in caught.value.remedy
    assert list(tmp_path.iterdir()) == []
