"""A trace in numbers, and as a picture."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest

from tenuto.errors import InputInvalid
from tenuto.model.cluster import Cluster
from tenuto.sim.describe import describe, load_of
from tenuto.sim.draw_trace import draw_trace
from tenuto.sim.library import find_trace
from tenuto.sim.read_trace import parse_trace, read_trace

if TYPE_CHECKING:
    from pathlib import Path

    from tenuto.sim.trace import Trace

HEADER = "job_id,submitted,steps,model,deadline,global_batch,slots,duration,best_effort"


def a_trace(*rows: str) -> Trace:
    return parse_trace("\n".join([HEADER, *rows]), file="own.csv", name="own")


FOUR_JOBS = (
    "a,0,500,bert,50,64,1,100,0",
    "b,0,500,gpt2,200,64,2,100,0",
    "c,50,500,bert,,64,4,100,1",
    "d,200,500,bert,500,64,1,200,0",
)


def test_a_trace_is_described_in_numbers() -> None:
    described = describe(a_trace(*FOUR_JOBS), Cluster.regular("small", nodes=1, slots=4))

    assert (described.jobs, described.best_effort_share) == (4, 0.25)
    assert (described.first_submission, described.last_submission) == (0, 200)
    assert (described.jobs_per_day, described.jobs_in_peak_hour) == (4, 4)
    assert described.sizes == {1: 2, 2: 1, 4: 1}
    assert described.models == {"bert": 3, "gpt2": 1}
    assert (described.duration["min"], described.duration["median"], described.duration["max"]) == (
        100,
        100,
        200,
    )
    assert (described.tightness["min"], described.tightness["max"]) == (0.5, 2.0)
    assert described.requested_slot_hours == pytest.approx(900 / 3600)
    # Until the last submission: 3 slots for 50 s, 7 for 50 s, 4 for 50 s, none for 50 s.
    assert (described.mean_load, described.peak_load) == (3.5, 7)
    assert (described.mean_load_share, described.time_over_capacity) == (0.875, 0.25)


def test_demand_is_added_up_over_time() -> None:
    load = load_of(a_trace(*FOUR_JOBS))

    assert load.begins.tolist() == [0, 50, 100, 150, 200, 400]
    assert load.slots.tolist() == [3, 7, 4, 0, 1, 0]


def test_one_best_effort_job_can_be_described() -> None:
    described = describe(a_trace("only,7,500,bert,,64,2,100,1"))

    assert described.tightness == {}
    assert (described.mean_load, described.peak_load, described.cluster) == (2, 2, None)


def test_submissions_are_counted_by_hour_and_day() -> None:
    rows = [f"{job},{job * 1800},5,bert,,64,1,10,1" for job in range(97)]

    described = describe(a_trace(*rows))

    assert described.jobs_in_peak_hour == 2
    assert described.jobs_per_day == pytest.approx(97 / 2)


def test_the_bundled_trace_is_too_much_for_64_slots() -> None:
    described = describe(read_trace(find_trace("lab-200")), Cluster.regular("n8g8", nodes=8, slots=8))

    assert described.jobs == 200
    assert described.best_effort_share == pytest.approx(0.2, abs=0.02)
    assert described.mean_load_share is not None
    assert 1.1 < described.mean_load_share < 1.5


BEGINNING = {".png": b"\x89PNG", ".svg": b"<?xml"}


@pytest.mark.parametrize("suffix", BEGINNING)
def test_a_trace_is_drawn_as_the_files_name_says(tmp_path: Path, suffix: str) -> None:
    pytest.importorskip("matplotlib")
    file = tmp_path / f"bild-画{suffix}"

    draw_trace(a_trace(*FOUR_JOBS), file, Cluster.regular("small", nodes=1, slots=4))

    assert file.read_bytes().startswith(BEGINNING[suffix])
    assert list(tmp_path.iterdir()) == [file]


@pytest.mark.parametrize("suffix", BEGINNING)
def test_the_same_trace_gives_the_same_picture(tmp_path: Path, suffix: str) -> None:
    pytest.importorskip("matplotlib")
    once, again = tmp_path / f"once{suffix}", tmp_path / f"again{suffix}"

    draw_trace(a_trace(*FOUR_JOBS), once)
    draw_trace(a_trace(*FOUR_JOBS), again)

    assert again.read_bytes() == once.read_bytes()


def test_a_trace_without_deadlines_is_drawn_too(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")

    draw_trace(a_trace("only,7,500,bert,,64,2,100,1"), tmp_path / "one.svg")

    assert "no job has a deadline" in (tmp_path / "one.svg").read_text()


def test_another_suffix_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputInvalid, match=r"trace\.docx: .*End the name in \.png or \.svg"):
        draw_trace(a_trace(*FOUR_JOBS), tmp_path / "trace.docx")


def test_without_matplotlib_the_remedy_is_the_installation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)

    with pytest.raises(InputInvalid, match=r"pip install 'tenuto\[lab\]'"):
        draw_trace(a_trace(*FOUR_JOBS), tmp_path / "trace.png")

    assert list(tmp_path.iterdir()) == []


def test_a_directory_that_does_not_exist_is_named(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")

    with pytest.raises(InputInvalid, match="existing directory"):
        draw_trace(a_trace(*FOUR_JOBS), tmp_path / "none" / "trace.png")
