"""Figures from beginning to end: small traces, real runs, and what then stands in the files."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from tests.lab.figures.builders import a_figure, a_trace, data_in, drawn, rows_of, shapes_in

from tenuto.errors import InputInvalid
from tenuto.lab.figures.catalogue import FIGURES
from tenuto.lab.figures.make import Drawn, Order, draw_figures, find_traces
from tenuto.lab.figures.sources import PublicTrace
from tenuto.sim.library import Library

pytest.importorskip("matplotlib")

Gallery = Callable[[str], Drawn]

TRACE = a_trace()
WITH_BEST_EFFORT = (a_trace(best_effort=0.5), a_trace(seed=1, best_effort=0.5))

SMALL = {
    figure.name: figure
    for figure in (
        a_figure("6a", TRACE),
        a_figure("7a", a_trace(jobs=3, seed=4)),
        a_figure("7b", TRACE, policies=("elasticflow",)),
        a_figure("8a", TRACE),
        a_figure("9", TRACE, a_trace(seed=2)),
        a_figure("10", TRACE),
        a_figure("11", *WITH_BEST_EFFORT, policies=("gandiva", "elasticflow")),
    )
}


@pytest.fixture(autouse=True)
def empty_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TENUTO_HOME", str(tmp_path / "library"))


@pytest.fixture(scope="module")
def gallery(tmp_path_factory: pytest.TempPathFactory) -> Gallery:
    """Pictures that several tests look at, each drawn once."""
    return cache(lambda name: drawn(SMALL[name], tmp_path_factory.mktemp(name)))


def numbers(path: Path) -> dict[tuple[str, str], list[tuple[float, float]]]:
    """What a CSV file says, by panel and series."""
    found: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for row in rows_of(path.read_text()):
        if row["value"]:
            x = float(row["x"]) if row["x"].replace(".", "").isdigit() else 0.0
            found.setdefault((row["panel"], row["series"]), []).append((x, float(row["value"])))
    return found


@pytest.mark.parametrize("name", ["6a", "8a", "9"])
def test_the_bars_are_as_high_as_the_numbers(name: str, gallery: Gallery) -> None:
    table, _, picture = gallery(name).files

    bars = shapes_in(picture, "bar")

    rows = rows_of(table.read_text())
    assert len(bars) == len(rows) > 0
    heights = []
    for row in rows:
        corners = bars[f"bar-{row['series']}-{row['x'].replace(' ', '-')}"]
        heights.append(max(y for _, y in corners) - min(y for _, y in corners))
    values = [float(row["value"]) for row in rows]
    scale = sum(heights) / sum(values)
    assert heights == pytest.approx([value * scale for value in values], abs=0.01)


@pytest.mark.parametrize("name", ["7a", "10"])
def test_the_steps_go_where_the_numbers_say(name: str, gallery: Gallery) -> None:
    table, _, picture = gallery(name).files

    lines = shapes_in(picture, "line")

    floor = max(y for corners in lines.values() for _, y in corners)
    for (_, series), points in numbers(table).items():
        values = sorted({value for _, value in points})
        top = max(floor - y for _, y in lines[f"line-{series}"])
        assert values[0] == 0 < values[-1]
        expected = [value / values[-1] * top for value in values]
        for _, y in lines[f"line-{series}"]:
            assert any(floor - y == pytest.approx(height, abs=0.01) for height in expected)
        for height in expected:
            assert any(floor - y == pytest.approx(height, abs=0.01) for _, y in lines[f"line-{series}"])


def test_the_counts_are_drawn(gallery: Gallery) -> None:
    table, _, picture = gallery("7b").files

    assert set(shapes_in(picture, "line")) == {"line-submitted", "line-admitted"}
    submitted = numbers(table)["", "submitted"]
    assert sum(value for _, value in submitted) == 8


def test_the_lines_go_through_the_numbers(gallery: Gallery) -> None:
    table, _, picture = gallery("11").files

    lines = shapes_in(picture, "line")

    found = numbers(table)
    assert len(lines) == len(found) == 4
    for (panel, series), ((_, one), (_, two)) in found.items():
        (_, y_one), (_, y_two) = lines[f"line-{panel}-{series}"]
        (_, low), (_, high) = found[panel, "gandiva"][0], found[panel, "elasticflow"][0]
        # The picture's height of one unit, from two points of different series.
        unit = (lines[f"line-{panel}-gandiva"][0][1] - lines[f"line-{panel}-elasticflow"][0][1]) / (
            high - low
        )
        assert y_one - y_two == pytest.approx((two - one) * unit, abs=0.01)


@pytest.mark.parametrize("name", SMALL)
def test_a_picture_carries_its_table(name: str, gallery: Gallery) -> None:
    table, png, svg = gallery(name).files

    assert data_in(svg) == table.read_text()
    assert png.read_bytes().startswith(b"\x89PNG\r\n")
    assert [path.name for path in (table, png, svg)] == [
        f"figure-{name}{suffix}" for suffix in (".csv", ".png", ".svg")
    ]


def test_compat_has_files_of_its_own_and_marks_what_was_published(tmp_path: Path, gallery: Gallery) -> None:
    ours = gallery("8a")

    theirs = drawn(SMALL["8a"], tmp_path, compat="artifact")

    assert theirs.files[2].name == "figure-8a-artifact.svg"
    assert "published" in theirs.files[2].read_text().partition("</metadata>")[2]
    assert "published" not in ours.files[2].read_text().partition("</metadata>")[2]
    assert "the reference's semantics" in theirs.files[2].read_text()
    assert "tenuto's own semantics" in ours.files[2].read_text()


def test_a_second_time_nothing_is_run_and_the_bytes_are_the_same(tmp_path: Path) -> None:
    first = [path.read_bytes() for path in drawn(SMALL["10"], tmp_path).files]
    manifests = {path: path.stat().st_mtime_ns for path in tmp_path.glob("cells/*/manifest.json")}

    again = [path.read_bytes() for path in drawn(SMALL["10"], tmp_path).files]

    assert again == first
    assert len(manifests) == 2
    assert {path: path.stat().st_mtime_ns for path in tmp_path.glob("cells/*/manifest.json")} == manifests


def test_a_trace_that_is_not_there_leaves_a_gap_that_says_so(tmp_path: Path) -> None:
    figure = a_figure("8b", TRACE, PublicTrace("cluster02"))

    one = drawn(figure, tmp_path)

    assert one.missing == ("cluster02",)
    assert "trace not there" in one.files[2].read_text()
    rows = rows_of(one.files[0].read_text())
    assert [row["note"] for row in rows if not row["value"]] == ["cluster02 is not there"] * 2


@pytest.mark.parametrize("name", ["6b", "7a", "7b", "8a"])
def test_a_figure_without_its_only_trace_is_drawn_empty(name: str, tmp_path: Path) -> None:
    figure = a_figure(name, PublicTrace("195job"))

    one = drawn(figure, tmp_path, compat="artifact")

    assert "the trace 195job is not there" in one.files[2].read_text()
    assert shapes_in(one.files[2], "bar") == {}


def test_a_public_trace_is_found_at_any_depth_and_told_from_a_raw_log(tmp_path: Path) -> None:
    out, data = tmp_path / "out", tmp_path / "data"
    source = find_traces(Order(figures=(SMALL["8a"],), out=out)).paths[TRACE.name]
    for folder in ("raw", "traces"):
        (data / folder).mkdir(parents=True)
    (data / "raw" / "cluster01.csv").write_text("job_id,submission_time,duration,num_gpu\n1,0,700,1\n")
    shutil.copy(source, data / "traces" / "cluster01.csv")
    figure = a_figure("8b", PublicTrace("cluster01"))

    found = find_traces(Order(figures=(figure,), out=out, data=data))

    assert found.paths == {"cluster01": data / "traces" / "cluster01.csv"}
    assert "is not the published cluster01" in found.remarks[0]


def test_the_published_files_are_known_by_their_content(tmp_path: Path, shared: Path) -> None:
    order = Order(figures=(FIGURES["8a"], FIGURES["8b"]), out=tmp_path, data=shared / "data")

    found = find_traces(order)

    # Of the ten clusters two are not among the data; raw logs of the same names are.
    assert len(found.paths) == 10
    assert [remark.split()[2] for remark in found.remarks] == ["cluster03", "cluster06"]
    assert all(path.parent.name == "traces" for path in found.paths.values())


def test_a_public_trace_of_the_library_is_found(tmp_path: Path) -> None:
    source = find_traces(Order(figures=(SMALL["8a"],), out=tmp_path)).paths[TRACE.name]
    Library(tmp_path / "library").add(source, "cluster01")
    figure = a_figure("8b", PublicTrace("cluster01"))

    found = find_traces(Order(figures=(figure,), out=tmp_path))

    assert list(found.paths) == ["cluster01"]
    assert found.remarks == ()


def test_what_is_not_there_is_named_with_what_to_do(tmp_path: Path) -> None:
    figure = a_figure("8b", PublicTrace("cluster03"))

    found = find_traces(Order(figures=(figure,), out=tmp_path))

    assert found.paths == {}
    (remark,) = found.remarks
    assert remark.startswith("the trace cluster03 is not there; name its directory with --data, or add it")


def test_data_must_be_a_directory(tmp_path: Path) -> None:
    with pytest.raises(InputInvalid, match="not a directory"):
        find_traces(Order(figures=(SMALL["8a"],), out=tmp_path, data=tmp_path / "nowhere"))


def test_without_matplotlib_nothing_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)

    with pytest.raises(InputInvalid, match=r"pip install 'tenuto\[lab\]'"):
        find_traces(Order(figures=(SMALL["8a"],), out=tmp_path / "out"))

    assert not (tmp_path / "out").exists()


def test_a_policy_left_out_is_neither_run_nor_drawn(tmp_path: Path) -> None:
    order = Order(
        figures=(SMALL["8a"],), out=tmp_path, without=frozenset({"edf"}), processes=1, show_progress=False
    )

    (one,) = draw_figures(order, find_traces(order))

    assert [series.name for series in one.panels[0].series] == ["elasticflow"]
    assert "Without edf" in one.files[2].read_text()
    assert len(list(tmp_path.glob("cells/*"))) == 1
