"""Reports: one row for each cell, in an order and in forms that depend on nothing but the cells."""

from __future__ import annotations

import builtins
import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from tenuto.errors import InputInvalid
from tenuto.lab.cell import Cell
from tenuto.lab.files import Format, as_csv, as_json, as_markdown, format_for, write_rows
from tenuto.lab.report import averaged, rows_of
from tenuto.lab.results import Result
from tenuto.sim.report import Summary


def a_result(*, met: int = 5, cpu_s: float = 1.0, mean_jct: float | None = 100.0, **cell: Any) -> Result:
    told = Cell(**{"trace": "day", **cell})
    summary = Summary(
        policy=told.policy, trace=told.trace, cluster=told.cluster, slot=told.slot, compat=told.compat,
        deadline_jobs=10, best_effort_jobs=2, admitted=8, declined=2, met=met, missed=8 - met, broken=0,
        ratio=met / 10, mean_jct=mean_jct, median_jct=50.0, makespan=1000.0, mean_efficiency=0.5,
        mean_allocated=3.25, rounds=20, cpu_s=cpu_s, compile_s=0.5,
    )  # fmt: skip
    return Result(told, Path("nowhere"), summary)


RESULTS = [
    a_result(policy="edf", seed=10, met=3, cpu_s=7.0),
    a_result(policy="elasticflow", seed=2, met=8),
    a_result(policy="edf", seed=2, met=4),
    a_result(policy="tiresias", seed=2, settings=(("first_limit", 10.0),), mean_jct=None, met=0),
]


def test_rows_are_sorted_by_what_they_are_about() -> None:
    found = [(row["policy"], row["seed"]) for row in rows_of(RESULTS)]

    assert found == [("edf", 2), ("edf", 10), ("elasticflow", 2), ("tiresias", 2)]
    assert rows_of(RESULTS[::-1]) == rows_of(RESULTS)


def test_only_what_varies_is_told() -> None:
    assert rows_of(RESULTS)[0].keys() >= {"seed", "first_limit", "slot", "compat"}
    assert "margin" not in rows_of(RESULTS)[0]
    assert "seed" not in rows_of(RESULTS[1:3])[0]


def test_a_setting_never_hides_a_number() -> None:
    [row] = rows_of([a_result(settings=(("met", 99), ("near", True)))])

    assert (row["met"], row["setting_met"], row["near"]) == (5, 99, True)


def test_timings_are_told_only_on_request() -> None:
    assert not {"cpu_s", "compile_s"} & set(rows_of(RESULTS)[0])
    assert [row["cpu_s"] for row in rows_of(RESULTS, timings=True)] == [1.0, 7.0, 1.0, 1.0]


def test_files_are_told_without_their_directories() -> None:
    rows = rows_of([a_result(overhead="/a/b/cost.json"), a_result(overhead="none")])

    assert [row["overhead"] for row in rows] == ["cost", "none"]


def test_means_are_taken_over_all_that_is_not_asked_for() -> None:
    [edf, elasticflow, tiresias] = averaged(rows_of(RESULTS), ["policy"])

    assert (edf["policy"], edf["cells"], edf["met"], edf["ratio"]) == ("edf", 2, 3.5, pytest.approx(0.35))
    assert (elasticflow["cells"], elasticflow["met"]) == (1, 8)
    assert tiresias["mean_jct"] is None
    assert "seed" not in edf


def test_means_by_an_unknown_column_are_refused() -> None:
    with pytest.raises(InputInvalid, match="Did you mean policy"):
        averaged(rows_of(RESULTS), ["polcy"])


def test_csv_has_full_precision_and_empty_cells() -> None:
    rows = list(csv.DictReader(io.StringIO(as_csv(rows_of(RESULTS)))))

    assert [row["ratio"] for row in rows] == ["0.4", "0.3", "0.8", "0.0"]
    assert (rows[3]["mean_jct"], rows[3]["first_limit"], rows[0]["first_limit"]) == ("", "10.0", "")


def test_json_gives_back_the_rows() -> None:
    assert json.loads(as_json(rows_of(RESULTS))) == rows_of(RESULTS)


def test_markdown_is_a_table_with_short_numbers() -> None:
    rows = rows_of([a_result(trace="a|b", mean_jct=100.123456)])
    header, line, row = as_markdown(rows).splitlines()

    assert header.startswith("| trace | cluster | policy | slot | compat | deadline_jobs |")
    assert line.startswith("| --- | --- | --- | ---: |")
    assert row.startswith(
        "| a\\|b | n16g8 | elasticflow | 60 |  | 10 | 2 | 8 | 2 | 5 | 3 | 0 | 0.5 | 100.123 |"
    )


def test_parquet_keeps_the_types(tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    mixed = [*RESULTS, a_result(policy="chronus", settings=(("first_limit", "low"),))]

    write_rows(rows_of(mixed), tmp_path / "all.parquet", Format.PARQUET)

    table = parquet.read_table(tmp_path / "all.parquet")
    types = {field.name: str(field.type) for field in table.schema}
    assert (types["met"], types["ratio"], types["policy"]) == ("int64", "double", "string")
    assert (types["compat"], types["first_limit"]) == ("string", "string")
    assert table.column("met").to_pylist() == [row["met"] for row in rows_of(mixed)]


def test_without_pyarrow_the_remedy_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without_pyarrow(name: str, *others: Any) -> Any:
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return real(name, *others)

    monkeypatch.setattr(builtins, "__import__", without_pyarrow)

    with pytest.raises(InputInvalid, match=r"pip install 'tenuto\[lab\]'"):
        write_rows(rows_of(RESULTS), tmp_path / "all.parquet", Format.PARQUET)
    assert not list(tmp_path.iterdir())


def test_the_name_of_a_file_tells_its_form() -> None:
    assert format_for(Path("a.CSV"), None) is Format.CSV
    assert format_for(Path("a.md"), Format.JSON) is Format.JSON
    assert format_for(None, None) is format_for(Path("a.txt"), None) is Format.TABLE


def test_a_name_that_tells_no_form_is_refused() -> None:
    with pytest.raises(InputInvalid, match=r"a\.xlsx: .* End it in \.csv"):
        format_for(Path("a.xlsx"), None)
    assert format_for(Path("a.xlsx"), Format.CSV) is Format.CSV
