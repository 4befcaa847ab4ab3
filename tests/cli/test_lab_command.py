"""`tenuto lab`: what a user types, what appears, and what is written."""

from __future__ import annotations

import fcntl
import json
from pathlib import Path
from typing import Any

import pytest
from tests.lab.experiments import a_trace, an_experiment, rows_in, times_of
from typer.testing import CliRunner, Result

from tenuto.cli.main import app
from tenuto.errors import CellsFailed, InputInvalid


@pytest.fixture(autouse=True)
def two_cells(workplace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An experiment of two cells."""
    monkeypatch.setenv("COLUMNS", "80")
    a_trace(workplace / "few.csv", within=6000)
    an_experiment(workplace / "two.yaml", policies=["fifo", "edf"])


def invoke(*arguments: str) -> Result:
    if arguments[0] == "run":
        arguments = (*arguments, "--processes", "1", "--quiet")
    return CliRunner().invoke(app, ("lab", *arguments))


def run(*arguments: str) -> Result:
    result = invoke(*arguments)
    assert result.exit_code == 0, result.output
    return result


def refused(*arguments: str) -> InputInvalid:
    result = invoke(*arguments)
    assert isinstance(result.exception, InputInvalid), result.output
    assert result.stdout == ""
    return result.exception


def test_a_run_ends_with_the_table_of_all_cells(workplace: Path) -> None:
    result = run("run", "two.yaml")

    title, _, header, first, second = result.stdout.splitlines()
    assert title.split() == ["two,", "few,", "n1g2,", "slot", "60"]
    assert header.split()[:5] == ["policy", "jobs", "admitted", "declined", "met"]
    assert (first.split()[0], second.split()[0]) == ("edf", "fifo")
    assert f"The results are in {workplace / 'two'}." in result.stderr
    assert run("report", "two").stdout == result.stdout


def test_a_second_laboratory_leaves_the_first_ones_notes_alone(workplace: Path) -> None:
    run("run", "two.yaml")
    note = (workplace / "two/experiment.json").read_bytes()
    drawn = {"generate": {"jobs": 5, "interarrival": 600, "max_slots": 2}}
    an_experiment(workplace / "two.yaml", traces=[drawn])
    with (workplace / "two/.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)

        assert "another laboratory" in refused("run", "two.yaml").problem

    assert (workplace / "two/experiment.json").read_bytes() == note
    assert not (workplace / "two/traces").exists()


def test_a_place_where_nothing_can_be_written_is_refused(workplace: Path) -> None:
    (workplace / "file").write_text("in the way")

    error = refused("run", "two.yaml", "--out", "file/below")

    assert "nothing can be written here" in error.problem


def test_a_finished_experiment_is_only_told_again(workplace: Path) -> None:
    first = run("run", "two.yaml", "--json")
    before = times_of(workplace / "two")

    again = run("run", "two.yaml", "--json")

    assert json.loads(first.stdout) == json.loads(again.stdout)
    assert times_of(workplace / "two") == before
    run("run", "two.yaml", "--force")
    after = times_of(workplace / "two")
    assert after.keys() == before.keys()
    assert all(after[name] > before[name] for name in before)


def test_a_dry_run_lists_the_cells_and_writes_nothing(workplace: Path) -> None:
    before = sorted(workplace.rglob("*"))

    result = run("run", "two.yaml", "--dry-run")

    assert "fifo on few, n1g2: to run\nedf on few, n1g2: to run\n" in result.stdout
    assert "two: 2 cells, 2 to run" in result.stdout
    assert sorted(workplace.rglob("*")) == before
    run("run", "two.yaml")
    rows = json.loads(run("run", "two.yaml", "--dry-run", "--json").stdout)
    assert rows == [
        {"cell": "fifo on few, n1g2", "state": "done"}, {"cell": "edf on few, n1g2", "state": "done"}
    ]  # fmt: skip


def test_a_cell_that_fails_is_told_at_the_end(workplace: Path) -> None:
    a_trace(workplace / "wide.csv", slots=4)
    an_experiment(workplace / "wide.yaml", traces=["few.csv", "wide.csv"])

    result = invoke("run", "wide.yaml")

    assert result.exit_code == 1
    assert isinstance(result.exception, CellsFailed)
    assert result.exception.exit_code == 1
    assert "fifo on wide, n1g2: " in str(result.exception)
    assert "the job asks for 4 slots" in str(result.exception)
    assert "few" in result.stdout
    assert len(times_of(workplace / "wide")) == 1


def test_an_edited_experiment_reports_only_its_own_cells(workplace: Path) -> None:
    run("run", "two.yaml")
    an_experiment(workplace / "two.yaml", policies=["fifo"], parameters={"slot": [60, 30]})

    run("run", "two.yaml")

    rows = json.loads(run("report", "two", "--format", "json").stdout)
    assert [(row["policy"], row["slot"]) for row in rows] == [("fifo", 30.0), ("fifo", 60.0)]
    assert len(times_of(workplace / "two")) == 3


@pytest.mark.parametrize("suffix", ["csv", "md", "json", "parquet", "txt"])
def test_a_report_is_written_in_the_form_that_its_name_tells(workplace: Path, suffix: str) -> None:
    if suffix == "parquet":
        pytest.importorskip("pyarrow")
    run("run", "two.yaml")

    result = run("report", "two", "--out", f"tafel.{suffix}")

    assert result.stdout == ""
    assert f"Wrote 2 rows to tafel.{suffix}." in result.stderr
    content = (workplace / f"tafel.{suffix}").read_bytes()
    assert b"edf" in content
    assert "--force" in refused("report", "two", "--out", f"tafel.{suffix}").remedy
    run("report", "two", "--out", f"tafel.{suffix}", "--force")
    assert (workplace / f"tafel.{suffix}").read_bytes() == content


@pytest.mark.parametrize("suffix", ["csv", "txt"])
def test_a_report_cannot_be_written_where_there_is_no_directory(suffix: str) -> None:
    run("run", "two.yaml")

    assert "cannot be written" in refused("report", "two", "--out", f"nowhere/tafel.{suffix}").problem


def test_a_report_tells_what_is_not_finished(workplace: Path) -> None:
    run("run", "two.yaml")
    next((workplace / "two").rglob("manifest.json")).unlink()

    result = run("report", "two", "--out", "tafel.csv", "--timings")

    assert "1 cells are not finished" in result.stderr
    [row] = rows_in(workplace / "tafel.csv")
    assert float(row["cpu_s"]) >= 0


def test_a_report_may_take_means(workplace: Path) -> None:
    run("run", "two.yaml")

    [row] = json.loads(run("report", "two", "--by", "trace", "--format", "json").stdout)

    assert (row["trace"], row["cells"]) == ("few", 2)
    assert "cells" in run("report", "two", "--by", "trace, policy").stdout


def test_two_cells_are_compared(workplace: Path) -> None:
    run("run", "two.yaml")
    [fifo] = (workplace / "two/cells").glob("*-fifo-*")
    [edf] = (workplace / "two/cells").glob("*-edf-*")

    text = run("compare", str(fifo), str(edf), "--jobs").stdout
    [row] = json.loads(run("compare", str(fifo), str(edf), "--json", "--jobs").stdout)

    numbers: dict[str, Any] = row["numbers"]
    only_a, only_b = row["only_a_met"], row["only_b_met"]
    assert numbers["met"]["b"] - numbers["met"]["a"] == len(only_b) - len(only_a)
    assert f"Only A met {len(only_a)} deadline" in text
    assert "B - A" in text
    assert {job["job_id"] for job in row["jobs"]} >= {*only_a, *only_b}


def test_two_experiments_are_compared_cell_by_cell(workplace: Path) -> None:
    run("run", "two.yaml", "--out", "before")
    an_experiment(workplace / "two.yaml", policies=["edf"])
    run("run", "two.yaml", "--out", "after")

    result = run("compare", "before", "after")

    assert result.stdout.count("A: ") == 1
    assert "Only A met 0 deadlines\nOnly B met 0 deadlines\n" in result.stdout
    assert "1 cells are in only one of the two." in result.stderr


def test_what_has_no_results_is_refused(workplace: Path) -> None:
    assert "lab run" in refused("report", "nowhere").remedy
    assert "directory" in refused("compare", "two", "nowhere").remedy
    assert "polices" in refused("run", str(an_experiment(workplace / "bad.yaml", polices="fifo"))).problem
    run("run", "two.yaml")
    assert "--out" in refused("report", "two", "--format", "parquet").remedy


ACCEPTED = {"elasticflow": 6, "edf": 1, "gandiva": 5, "tiresias": 2, "themis": 3}
"""By the reference's functionality test on a single server: ten jobs, eight slots, slot 240."""


def accepted(*options: str) -> dict[str, int]:
    rows = json.loads(run("demo", "--quiet", "--json", *options).stdout)
    assert all(row["accepted"] + row["declined"] == 10 for row in rows)
    return {row["policy"]: row["accepted"] for row in rows}


def test_the_demo_repeats_the_references_table() -> None:
    found = accepted("--compat", "artifact")

    assert {name: found[name] for name in ACCEPTED} == ACCEPTED
    assert max(found.values()) == found["elasticflow"]


def test_in_the_demo_elasticflow_keeps_more_deadlines_than_anybody(workplace: Path) -> None:
    before = sorted(workplace.rglob("*"))

    found = accepted()

    assert all(found["elasticflow"] > count for name, count in found.items() if name != "elasticflow")
    assert sorted(workplace.rglob("*")) == before


def test_the_demo_is_a_table_of_what_was_accepted_and_declined() -> None:
    title, header, *lines = run("demo", "--quiet", "--compat", "artifact").stdout.splitlines()

    assert title == "demo-10 on n1g8, slot 240 s, --compat artifact"
    assert header.split() == ["policy", "accepted", "declined"]
    assert ["elasticflow", "6", "4"] in [line.split() for line in lines]
