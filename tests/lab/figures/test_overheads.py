"""Figure 12: from the files of measurements to numbers and pictures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tenuto.errors import InputInvalid
from tenuto.lab.figures.make import draw_measured
from tenuto.lab.figures.numbers import Panel, Point
from tenuto.lab.figures.overheads import CASES, MEASURED, PROFILING, SCALING, profiling, scaling

HEADER = "model,case,warm_up_ms,agree_ms,form_ms,transfer_ms,first_step_ms,pause_ms,moved_bytes\n"


@pytest.fixture
def measured(tmp_path: Path) -> Path:
    directory = tmp_path / "pomiary 측정"
    directory.mkdir()
    rows = [("resnet50", "1→2", 80), ("resnet50", "1→2", 120), ("25M", "migrate 2", 300), ("25M", "3→4", 50)]
    lines = [f"{model},{case},0,0,0,0,0,{pause},7\n" for model, case, pause in rows]
    (directory / "rescales.csv").write_text(HEADER + "".join(lines), encoding="utf-8")
    (directory / "resnet50.json").write_text(
        json.dumps({"model": "resnet50", "seconds": 12.5}), encoding="utf-8"
    )
    (directory / "other.json").write_text("[1]", encoding="utf-8")
    return directory


def point(panel: Panel, model: str, x: str) -> Point:
    (found,) = (p for one in panel.series if one.name == model for p in one.points if p.x == x)
    return found


def test_pauses_stand_beside_the_published_ones(measured: Path) -> None:
    panel = scaling(measured)

    assert point(panel, "resnet50", "1→2") == Point("1→2", 0.1, 1.884, "median of 2")
    assert point(panel, "25M", "migrate") == Point("migrate", 0.3, None, "median of 1")
    assert point(panel, "bert", "16→8") == Point("16→8", None, 4.222)
    assert panel.places == (*CASES, "3→4")
    assert panel.missing == ()


def test_profiling_times_come_from_the_files_beside_profiles(measured: Path) -> None:
    panel = profiling(measured)

    assert point(panel, "resnet50", "resnet50").value == 12.5
    assert [one.name for one in panel.series] == list(PROFILING)


def test_without_measurements_the_published_values_stand_alone() -> None:
    panel = scaling(None)

    assert panel.missing == ("rescales.csv",)
    assert {one.name for one in panel.series} == set(SCALING)
    assert all(p.value is None for one in panel.series for p in one.points)


@pytest.mark.parametrize(
    ("content", "problem"),
    [("a,b\n1,2\n", "it has no columns"), (HEADER + "m,1→2,0,0,0,0,0,dużo,0\n", "'dużo' is no number")],
)
def test_a_file_of_something_else_is_refused(tmp_path: Path, content: str, problem: str) -> None:
    (tmp_path / "rescales.csv").write_text(content, encoding="utf-8")

    with pytest.raises(InputInvalid, match=problem):
        scaling(tmp_path)


@pytest.mark.parametrize("there", [True, False])
def test_both_are_drawn_with_every_bar_to_be_found_by_name(
    measured: Path, tmp_path: Path, there: bool
) -> None:
    pytest.importorskip("matplotlib")

    drawn = draw_measured(MEASURED.values(), measured if there else tmp_path / "nie-ma", tmp_path / "obrazy")

    pictures = [
        path.read_text(encoding="utf-8") for one in drawn for path in one.files if path.suffix == ".svg"
    ]
    assert [one.files[0].name for one in drawn] == ["figure-12a.csv", "figure-12b.csv"]
    assert all("bar-resnet50" in picture for picture in pictures)
    assert ("bar-25M-migrate-measured" in pictures[1]) == there
    assert ("nothing measured here" in pictures[1]) != there
