"""Running cells: each once, each in its own directory, each failure its own."""

from __future__ import annotations

import fcntl
import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from multiprocessing import active_children
from pathlib import Path
from typing import Any

import pytest
from tests.lab.experiments import CLUMSY, DYING, a_policy, a_trace, times_of
from typer.testing import CliRunner

from tenuto.cli.main import app
from tenuto.errors import CellsFailed, InputInvalid
from tenuto.lab import run as lab_run
from tenuto.lab.cell import Cell
from tenuto.lab.pool import Pool
from tenuto.lab.results import Result, load_result
from tenuto.lab.run import run_cells
from tenuto.lab.task import Task
from tenuto.lab.worker import Ended, News


@pytest.fixture
def cells(tmp_path: Path) -> list[Cell]:
    """Two traces, two clusters, two policies."""
    traces = [a_trace(tmp_path / "few.csv"), a_trace(tmp_path / "more.csv", jobs=6)]
    return [
        Cell(trace=str(trace), cluster=cluster, policy=policy)
        for trace in traces
        for cluster in ("n1g2", "n1g4")
        for policy in ("fifo", "edf")
    ]


def run(cells: list[Cell], out: Path, processes: int = 1) -> list[Result]:
    return run_cells(cells, out, processes=processes, show_progress=False)


def without_timings(result: Result) -> dict[str, object]:
    return {
        name: value for name, value in asdict(result.summary).items() if name not in ("cpu_s", "compile_s")
    }


def test_a_matrix_of_eight_cells_in_two_processes(cells: list[Cell], tmp_path: Path) -> None:
    results = run(cells, tmp_path / "out", processes=2)

    assert [result.cell for result in results] == cells
    assert len({result.folder for result in results}) == 8
    assert len(times_of(tmp_path / "out")) == 8
    here = run(cells, tmp_path / "here", processes=1)
    assert [without_timings(result) for result in results] == [without_timings(result) for result in here]
    for one, other in zip(results, here, strict=True):
        assert (one.folder / "jobs.csv").read_bytes() == (other.folder / "jobs.csv").read_bytes()


def test_a_second_run_does_only_the_rest(cells: list[Cell], tmp_path: Path) -> None:
    run(cells[:3], tmp_path / "out")
    before = times_of(tmp_path / "out")

    results = run(cells, tmp_path / "out")

    after = times_of(tmp_path / "out")
    assert len(results) == len(after) == 8
    assert {name: after[name] for name in before} == before


@pytest.mark.parametrize("damage", ["no manifest", "half a manifest", "an older manifest"])
def test_a_cell_that_was_not_written_to_the_end_is_run_again(
    cells: list[Cell], tmp_path: Path, damage: str
) -> None:
    [result] = run(cells[:1], tmp_path / "out")
    manifest, leftover = result.folder / "manifest.json", result.folder / ".jobs.1.part.csv"
    leftover.write_text("half")
    text = manifest.read_text()
    if damage == "no manifest":
        manifest.unlink()
    elif damage == "half a manifest":
        manifest.write_text(text[: len(text) // 2])
    else:
        manifest.write_text(text.replace('"broken"', '"shattered"'))
    assert load_result(result.folder) is None

    [again] = run(cells[:1], tmp_path / "out")

    assert without_timings(again) == without_timings(result)
    assert not leftover.exists()


def test_a_cell_comes_to_the_same_as_a_replay(tmp_path: Path) -> None:
    cell = Cell(
        trace=str(a_trace(tmp_path / "few.csv")), cluster="n1g2", policy="edf", slot=30, overhead="none"
    )
    [result] = run([cell], tmp_path / "out")

    told = CliRunner().invoke(
        app,
        [
            "replay",
            cell.trace,
            "-c",
            "n1g2",
            "-p",
            "edf",
            "--slot",
            "30",
            "--overhead",
            "none",
            "--json",
            "-q",
        ],
    )

    [row] = json.loads(told.stdout)
    assert {name: row[name] for name in without_timings(result)} == without_timings(result)


def test_the_manifest_tells_versions_arguments_and_inputs(cells: list[Cell], tmp_path: Path) -> None:
    [result] = run([replace(cells[0], seed=3)], tmp_path / "out")

    manifest = json.loads((result.folder / "manifest.json").read_text(encoding="utf-8"))
    assert {"tenuto", "python", "numpy", "numba"} <= set(manifest)
    assert manifest["arguments"] == {**replace(cells[0], seed=3).arguments()}
    assert set(manifest["inputs"]) == {"trace", "profiles", "cluster"}


def test_cells_that_come_to_the_same_are_run_once(cells: list[Cell], tmp_path: Path) -> None:
    again = replace(cells[0], slot=60)

    assert len(run([cells[0], again], tmp_path / "out")) == 1


def test_all_inputs_are_checked_before_anything_is_run(cells: list[Cell], tmp_path: Path) -> None:
    mistakes: list[dict[str, Any]] = [
        {"trace": "nowhere.csv"}, {"policy": "fifa"}, {"cluster": "n0"}, {"overhead": "cheap"}
    ]  # fmt: skip
    for wrong in mistakes:
        with pytest.raises(InputInvalid):
            run([cells[0], replace(cells[1], **wrong)], tmp_path / "out")

    assert not (tmp_path / "out").exists()


def test_what_cannot_go_together_fails_alone(cells: list[Cell], tmp_path: Path) -> None:
    wide = replace(cells[0], trace=str(a_trace(tmp_path / "wide.csv", slots=8)))

    with pytest.raises(CellsFailed, match="1 of 2 cells failed") as caught:
        run([wide, cells[1]], tmp_path / "out")

    [(name, reason)] = caught.value.reasons.items()
    assert name == "fifo on wide, n1g2"
    assert "the job asks for 8 slots" in reason
    assert len(times_of(tmp_path / "out")) == 1


def test_a_policy_that_fails_does_not_keep_the_others_from_being_run(
    cells: list[Cell], tmp_path: Path
) -> None:
    clumsy = replace(cells[0], policy=str(a_policy(tmp_path / "clumsy.py", CLUMSY)))

    with pytest.raises(CellsFailed) as caught:
        run([clumsy, cells[0], cells[1]], tmp_path / "out")

    [reason] = caught.value.reasons.values()
    assert "ZeroDivisionError: oops" in reason
    assert "clumsy.py, line 7" in reason
    assert len(times_of(tmp_path / "out")) == 2


def test_a_process_that_is_killed_takes_only_its_cell_with_it(cells: list[Cell], tmp_path: Path) -> None:
    dying = replace(cells[0], policy=str(a_policy(tmp_path / "dying.py", DYING)))

    with pytest.raises(CellsFailed, match="1 of 3 cells failed") as caught:
        run([dying, cells[0], cells[1]], tmp_path / "out", processes=2)

    [(name, reason)] = caught.value.reasons.items()
    assert name == "dying on few, n1g2"
    assert reason == "its process was killed by SIGKILL; was there too little memory?"
    assert len(times_of(tmp_path / "out")) == 2


def test_a_process_that_is_killed_when_its_work_is_done_does_no_harm(
    cells: list[Cell], tmp_path: Path
) -> None:
    prepared = lab_run.prepare(cells[:1], tmp_path / "out")

    def kill_when_done(_task: Task, news: News) -> None:
        if isinstance(news, Ended):
            for process in active_children():
                process.kill()
                process.join()

    Pool(prepared.tasks, 1, kill_when_done).run()

    assert prepared.unfinished() == []


def test_a_second_laboratory_is_kept_out(cells: list[Cell], tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    with (out / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)

        with pytest.raises(InputInvalid, match="another laboratory is at work here"):
            run(cells[:1], out)

    assert len(run(cells[:1], out)) == 1


def test_a_trace_that_changes_meanwhile_is_not_taken_for_the_old_one(
    cells: list[Cell], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare = lab_run.prepare

    def prepare_and_edit(cells: Sequence[Cell], out: Path) -> lab_run.Prepared:
        prepared = prepare(cells, out)
        a_trace(tmp_path / "few.csv", jobs=9)
        return prepared

    monkeypatch.setattr(lab_run, "prepare", prepare_and_edit)

    with pytest.raises(CellsFailed, match="an input was changed while the experiment ran"):
        run(cells[:1], tmp_path / "out")


def test_jobs_and_events_are_read_back_as_columns(cells: list[Cell], tmp_path: Path) -> None:
    [result] = run(cells[:1], tmp_path / "out")

    jobs, events = result.jobs(), result.events()
    assert jobs.ids == ("j0", "j1", "j2", "j3")
    assert int(jobs.met.sum()) == result.summary.met
    assert float(jobs.finished.max()) == result.summary.makespan
    assert len(events.time) == result.summary.rounds
    assert int(events.busy.max()) == 2
