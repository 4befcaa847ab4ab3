"""The files of `tenuto profile`, and what is made of a series."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tenuto.cli.main import app
from tenuto.cli.profile_file import Point, check_profile, write_facts, write_profile
from tenuto.cli.profile_run import pace_in
from tenuto.errors import InputInvalid
from tenuto.sim.read_profiles import load_profiles


def a_point(batch: int, workers: int, rate: float) -> Point:
    return Point(batch=batch, workers=workers, rate=rate, seconds=2.0, spent=3.0)


def test_a_profile_appears_from_nothing_and_can_be_read(tmp_path: Path) -> None:
    path = tmp_path / "профиль.csv"

    write_profile(path, "żółw", [a_point(64, 1, 3.25), a_point(64, 2, 6.0)])

    assert load_profiles(str(path)).curves["żółw", 64].rate == {1: 3.25, 2: 6.0}
    assert path.read_text().splitlines()[1] == "model,global_batch,slots,steps_per_second"


def test_an_update_replaces_what_was_measured_and_leaves_all_else(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    path.write_text(
        "# Mine.\n# Two lines.\nmodel,global_batch,slots,steps_per_second\nbert,64,1,9\nbert,64,2,17.5\nbert,32,1,8\n"
    )

    write_profile(path, "bert", [a_point(64, 1, 10.0), a_point(64, 4, 30.0)])

    curves = load_profiles(str(path)).curves
    assert curves["bert", 64].rate == {1: 10.0, 2: 17.5, 4: 30.0}
    assert curves["bert", 32].rate == {1: 8.0}
    assert path.read_text().splitlines()[:2] == ["# Mine.", "# Two lines."]


def test_a_file_that_is_no_profile_is_refused_before_anything_is_measured(tmp_path: Path) -> None:
    (tmp_path / "notes.csv").write_text("dear,diary\n1,2\n")

    for path in (tmp_path / "notes.csv", tmp_path, tmp_path / "nowhere" / "p.csv"):
        with pytest.raises(InputInvalid):
            check_profile(path)
    check_profile(tmp_path / "new.csv")


def test_what_measuring_took_stands_beside_the_profile(tmp_path: Path) -> None:
    beside = write_facts(tmp_path / "p.csv", {"model": "żółw", "seconds": 3.5})

    assert beside.name == "p.json"
    assert json.loads(beside.read_text(encoding="utf-8")) == {"model": "żółw", "seconds": 3.5}


def points(*told: tuple[int, int, float | None], rank: int = 0, generation: int = 1) -> dict[str, Any]:
    """A series of (step, world, seconds)."""
    return {
        "points": [
            {"step": step, "world": world, "seconds": seconds, "rank": rank, "generation": generation}
            for step, world, seconds in told
        ]
    }


def test_the_first_report_at_a_size_only_begins_the_count() -> None:
    assert pace_in([points((10, 1, 9.0), (20, 1, 0.5), (40, 1, 0.25))], 1) == (30, 10.0)


def test_only_the_first_worker_at_the_size_that_is_asked_for_counts() -> None:
    series = [
        points((10, 1, None), (20, 1, 0.5), (30, 2, 0.1), (40, 2, 0.1), (50, 1, 9.0), (60, 1, 0.5)),
        points((10, 1, 5.0), (20, 1, 5.0), rank=1),
    ]

    assert pace_in(series, 1) == (20, 10.0)
    assert pace_in(series, 2) == (10, 1.0)
    assert pace_in(series, 4) == (0.0, 0.0)
    assert pace_in([], 1) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--workers", "1,a"], "list of numbers"),
        (["--workers", ""], "list of numbers"),
        (["--batches", "0"], "list of numbers"),
        (["--workers", "5000"], "too many workers"),
        (["--local", "--server", "http://127.0.0.1:1"], "exclude each other"),
        (["--out", "nowhere/p.csv"], "no place for a file"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_is_started(
    options: list[str], problem: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TENUTO_HOME", str(tmp_path / "home"))
    (tmp_path / "job.yaml").write_text("name: żółw\nrun: [sleep, '1']\n", encoding="utf-8")

    result = CliRunner().invoke(app, ["profile", "job.yaml", *options])

    assert isinstance(result.exception, InputInvalid)
    assert problem in str(result.exception)
    assert not (tmp_path / "home").exists()
