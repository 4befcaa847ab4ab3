"""`tenuto metrics export`: numbers in files that other programs read, whole or not at all."""

from __future__ import annotations

import csv
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.cli.live.site import Served, Site, as_json, ok, tenuto
from tests.cli.live.test_metrics import add, now_and_then
from tests.monitor.influx.protocol import read as read_line

from tenuto.cli import metrics_export
from tenuto.model.phase import Phase
from tenuto.model.series import NODE, Points, Subject


@pytest.fixture
def job(site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> float:
    """A job k1, 学习, that has told five steps; the moment of the first."""
    here = tmp_path / "здесь"
    here.mkdir()
    monkeypatch.chdir(here)
    site.add_job("k1", "学习", started_at=time.time() - 60, phase=Phase.RUNNING)
    return now_and_then(site)


def read_csv(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def test_a_csv_file_has_a_line_for_each_value(job: float) -> None:
    told = as_json("metrics", "export", "学习", "--out", "числа.csv")

    rows = read_csv(Path("числа.csv"))
    losses = [row for row in rows if (row["part"], row["name"]) == ("values", "потеря")]
    assert [float(row["value"]) for row in losses] == [1 / (n + 1) for n in range(5)]
    assert datetime.fromisoformat(losses[0]["at"]).timestamp() == pytest.approx(job, abs=0.002)
    assert {row["subject"] for row in rows} == {"k1"}
    assert told == {"out": "числа.csv", "format": "csv", "subjects": 4, "values": len(rows)}


def test_records_older_than_the_start_that_the_controller_saw_are_exported(
    site: Site, tmp_path: Path
) -> None:
    site.add_job("k1", "рано", started_at=time.time() - 45, phase=Phase.RUNNING)
    now_and_then(site)  # the first of five records is 50 s old
    out = tmp_path / "числа.csv"

    ok("metrics", "export", "рано", "--out", str(out))

    losses = [row for row in read_csv(out) if (row["part"], row["name"]) == ("values", "потеря")]
    assert [float(row["value"]) for row in losses] == [1 / (n + 1) for n in range(5)]


def test_a_parquet_file_has_the_same_rows_with_their_types(job: float) -> None:
    ok("metrics", "export", "学习", "--out", "числа.csv")
    ok("metrics", "export", "k1", "--out", "числа.parquet")

    from pyarrow import parquet

    rows = parquet.read_table("числа.parquet").to_pylist()
    text = read_csv(Path("числа.csv"))
    assert [(row["part"], row["name"], row["value"], row["unit"]) for row in rows] == [
        (row["part"], row["name"], float(row["value"]), row["unit"]) for row in text
    ]
    assert rows[0]["at"] == pytest.approx(datetime.fromtimestamp(job, UTC), abs=_MILLISECONDS)


def test_an_influxdb_can_be_handed_the_lines_that_it_was_not_sent(job: float) -> None:
    told = as_json("metrics", "export", "学习", "--out", "строки.txt", "--format", "influx")

    lines = [read_line(line) for line in Path("строки.txt").read_text(encoding="utf-8").splitlines()]
    losses = [line for line in lines if line.tags.get("scalar") == "потеря" and "worker" not in line.tags]
    assert [line.fields["value"] for line in losses] == [1 / (n + 1) for n in range(5)]
    assert losses[0].at == round(job * 1000)
    assert {(line.tags["job"], line.tags["name"]) for line in lines} == {("k1", "学习")}
    assert sum(len(line.fields) for line in lines) == told["values"]


def test_tensorboard_finds_every_scalar_at_its_step_and_wall_time(job: float) -> None:
    ok("metrics", "export", "学习", "--format", "tensorboard", "--out", "runs")

    assert sorted(run.name for run in Path("runs").iterdir()) == [
        "job",
        "values",
        "worker_1.worker.0",
        "worker_1.worker.1",
    ]
    losses = scalars("runs/values")["потеря"]
    assert [step for step, _, _ in losses] == [0, 10, 20, 30, 40]
    assert [value for _, _, value in losses] == pytest.approx([1 / (n + 1) for n in range(5)])
    assert [at for _, at, _ in losses] == pytest.approx([job + 10 * n for n in range(5)], abs=0.01)
    assert [step for step, _, _ in scalars("runs/worker_1.worker.1")["seconds"]] == [0, 10, 20, 30, 40]
    assert {value for _, _, value in scalars("runs/job")["samples_per_second"]} == {128.0}


def test_a_node_is_exported_with_all_its_parts_in_means_if_wished(
    site: Site, one_server: Served, tmp_path: Path
) -> None:
    site.add_node("узел")
    begin = (time.time() - 300) // 60 * 60
    at = [begin + second for second in range(120)]
    for part in ("", "gpu:0", "disk:/", "disk:/a_b", "disk:/a/b"):
        points = Points(subject=Subject(NODE, "узел", part), at=at, values={"used": [1.0, 3.0] * 60})
        add(one_server, points)

    ok("metrics", "export", "--node", "узел", "--step", "60", "--out", str(tmp_path / "a.csv"))
    ok("metrics", "export", "--node", "узел", "--format", "tensorboard", "--out", str(tmp_path / "runs"))

    rows = read_csv(tmp_path / "a.csv")
    assert [(row["part"], row["value"]) for row in rows][:4] == [
        ("", "2.0"),
        ("", "2.0"),
        ("disk:/", "2.0"),
        ("disk:/", "2.0"),
    ]
    runs = sorted(run.name for run in (tmp_path / "runs").iterdir())
    assert runs == ["узел.disk__", "узел.disk__a_b", "узел.disk__a_b_", "узел.gpu_0", "узел.node"]
    assert [step for step, _, _ in scalars(str(tmp_path / "runs" / "узел.gpu_0"))["used"]][:2] == [0, 1]


def test_many_points_are_read_piece_by_piece(job: float, monkeypatch: pytest.MonkeyPatch) -> None:
    ok("metrics", "export", "k1", "--out", "whole.csv")
    ok("metrics", "export", "k1", "--format", "tensorboard", "--out", "whole")
    monkeypatch.setattr(metrics_export, "POINTS", 2)

    ok("metrics", "export", "k1", "--out", "pieces.csv")
    ok("metrics", "export", "k1", "--format", "tensorboard", "--out", "pieces")

    assert sorted(Path("pieces.csv").read_text().splitlines()) == sorted(
        Path("whole.csv").read_text().splitlines()
    )
    assert scalars("pieces/values") == scalars("whole/values")


@pytest.mark.parametrize(
    ("form", "module", "extra"),
    [("parquet", "pyarrow", "tenuto[lab]"), ("tensorboard", "tensorboardX", "tenuto[tensorboard]")],
)
def test_a_library_that_is_missing_is_named_with_its_extra(
    job: float, form: str, module: str, extra: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)

    result = tenuto("metrics", "export", "k1", "--format", form, "--out", "x")

    assert result.exit_code == 2
    assert extra in str(result.exception)
    assert list(Path().iterdir()) == []


def test_what_is_there_is_kept_unless_it_shall_be_overwritten(job: float) -> None:
    Path("x.csv").write_text("mine")
    Path("runs").mkdir()
    Path("runs/mine").touch()

    assert tenuto("metrics", "export", "k1", "--out", "x.csv").exit_code == 2
    assert tenuto("metrics", "export", "k1", "--out", "runs").exit_code == 2
    tensorboard = ("metrics", "export", "k1", "--format", "tensorboard", "--out", "runs")
    assert tenuto(*tensorboard).exit_code == 2
    assert (Path("x.csv").read_text(), Path("runs/mine").exists()) == ("mine", True)

    ok("metrics", "export", "k1", "--out", "x.csv", "--force")
    assert read_csv(Path("x.csv"))


def test_of_a_directory_nothing_is_overwritten_but_event_files(job: float) -> None:
    tensorboard = ("metrics", "export", "k1", "--format", "tensorboard", "--out", "runs", "--force")
    ok(*tensorboard)
    Path("runs/old").mkdir()
    Path("runs/old/events.out.tfevents.1.000000").touch()
    ok(*tensorboard)
    assert not Path("runs/old").exists()

    Path("runs/values/mine").write_text("mine")
    refused = tenuto(*tensorboard)
    assert refused.exit_code == 2
    assert "more than event files" in refused.stderr
    assert Path("runs/values/mine").read_text() == "mine"


@pytest.mark.parametrize("form", ["csv", "parquet", "tensorboard"])
def test_an_export_that_is_interrupted_leaves_nothing(
    job: float, form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr(metrics_export._Export, "pieces", interrupted)

    assert tenuto("metrics", "export", "k1", "--format", form, "--out", "x").exit_code != 0
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize(
    "arguments",
    [
        ("--out", "x"),
        ("k1", "--cluster", "--out", "x"),
        ("k1", "--format", "parquett", "--out", "x"),
        ("k1", "--step", "often", "--out", "x"),
        ("k1", "--since", "gestern", "--out", "x"),
        ("k1", "--out", "-"),
    ],
)
def test_what_makes_no_sense_is_refused_and_writes_nothing(job: float, arguments: tuple[str, ...]) -> None:
    assert tenuto("metrics", "export", *arguments).exit_code == 2
    assert list(Path().iterdir()) == []


_MILLISECONDS = datetime.resolution * 2000


def scalars(run: str) -> dict[str, list[tuple[int, float, float]]]:
    """What TensorBoard itself reads from a run: step, wall time and value of each tag."""
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    found = EventAccumulator(run, size_guidance={"scalars": 0, "tensors": 0})
    found.Reload()
    from tensorboard.util import tensor_util

    told = {
        tag: [(e.step, e.wall_time, float(e.value)) for e in found.Scalars(tag)]
        for tag in found.Tags()["scalars"]
    }
    return told | {
        tag: [
            (e.step, e.wall_time, float(tensor_util.make_ndarray(e.tensor_proto))) for e in found.Tensors(tag)
        ]
        for tag in found.Tags()["tensors"]
    }
