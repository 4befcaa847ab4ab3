"""Comparing results: numbers side by side, and the deadlines that only one of them met."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from tests.lab.experiments import a_trace
from typer.testing import CliRunner

from tenuto.cli.main import app
from tenuto.errors import InputInvalid
from tenuto.lab.cell import Cell
from tenuto.lab.compare import compare, partners, results_at
from tenuto.lab.results import Result
from tenuto.lab.run import run_cells


@pytest.fixture
def cell(tmp_path: Path) -> Cell:
    """Four jobs of about an hour within two hours, on two slots: fifo is late with the last ones."""
    return Cell(trace=str(a_trace(tmp_path / "few.csv", within=6000)), cluster="n1g2", policy="fifo")


def run(out: Path, *cells: Cell) -> list[Result]:
    return run_cells(cells, out, processes=1, show_progress=False)


def test_deadlines_that_only_one_met_are_named(cell: Cell, tmp_path: Path) -> None:
    small, large = run(tmp_path / "out", cell, replace(cell, cluster="n1g4"))

    found = compare(small, large)

    assert found.only_first == ()
    assert found.only_second == ("j2", "j3")
    assert found.numbers["met"] == (2, 4)
    assert [pair.job_id for pair in found.jobs] == ["j2", "j3"]
    assert all(pair.met == (False, True) for pair in found.jobs)
    assert compare(large, small).only_first == ("j2", "j3")


def test_a_result_does_not_differ_from_itself(cell: Cell, tmp_path: Path) -> None:
    [result] = run(tmp_path / "out", cell)

    found = compare(result, result)

    assert (found.only_first, found.only_second, found.jobs, found.strangers) == ((), (), (), 0)


def test_jobs_of_only_one_trace_are_counted(cell: Cell, tmp_path: Path) -> None:
    more = replace(cell, trace=str(a_trace(tmp_path / "more.csv", jobs=6, within=6000)))
    first, second = run(tmp_path / "out", cell, more)

    assert compare(first, second).strangers == 2


def test_cells_of_two_experiments_meet_their_like(cell: Cell, tmp_path: Path) -> None:
    one = run(tmp_path / "one", cell, replace(cell, policy="edf"))
    moved = replace(cell, trace=str(a_trace(tmp_path / "moved" / "few.csv", within=6000)))
    other = run(tmp_path / "other", replace(moved, slot=30), moved)

    assert partners(one, other) == [(one[0], other[1])]


def test_a_path_is_that_of_a_cell_or_of_an_experiment(cell: Cell, tmp_path: Path) -> None:
    [result] = run(tmp_path / "out", cell)

    assert results_at(result.folder) == (result,)
    assert results_at(tmp_path / "out") == (result,)
    with pytest.raises(InputInvalid, match="no finished cell"):
        results_at(tmp_path)
    with pytest.raises(InputInvalid, match="no such directory"):
        results_at(tmp_path / "nowhere")


def test_a_replays_directory_is_as_good_as_a_cell(cell: Cell, tmp_path: Path) -> None:
    [result] = run(tmp_path / "out", cell)
    command = ["replay", cell.trace, "-c", "n1g2", "-p", "fifo", "-q", "--out", str(tmp_path / "replayed")]

    assert CliRunner().invoke(app, command).exit_code == 0

    [replayed] = results_at(tmp_path / "replayed" / "few" / "fifo")
    assert compare(result, replayed).jobs == ()
    manifests = [json.loads((one.folder / "manifest.json").read_text()) for one in (result, replayed)]
    assert manifests[0]["inputs"] == manifests[1]["inputs"]
