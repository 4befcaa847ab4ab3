"""Rows of a report as files: for spreadsheets, for papers and for programs."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from io import StringIO
from pathlib import Path
from typing import Any

from tenuto.errors import InputInvalid, Place
from tenuto.lab.report import Row
from tenuto.sim.whole_file import whole_file, written_beside


class Format(StrEnum):
    """How a report is written."""

    TABLE = "table"
    CSV = "csv"
    MARKDOWN = "markdown"
    PARQUET = "parquet"
    JSON = "json"


SUFFIXES = {
    ".csv": Format.CSV,
    ".md": Format.MARKDOWN,
    ".parquet": Format.PARQUET,
    ".json": Format.JSON,
    ".txt": Format.TABLE,
}


def format_for(path: Path | None, wanted: Format | None) -> Format:
    """The format that is wanted, or else the one that the file's name tells."""
    if wanted is not None:
        return wanted
    if path is None:
        return Format.TABLE
    form = SUFFIXES.get(path.suffix.lower())
    if form is None:
        raise InputInvalid(
            "the name does not tell how to write the report",
            remedy=f"End it in {', '.join(SUFFIXES)}, or choose a --format",
            place=Place(str(path)),
        )
    return form


def as_csv(rows: Sequence[Row]) -> str:
    """A header and one line for each row; what is missing is empty."""
    stream = StringIO()
    writer = csv.DictWriter(stream, fieldnames=list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue()


def as_json(rows: Sequence[Row]) -> str:
    """A list with an object for each row."""
    return json.dumps(list(rows), indent=2, ensure_ascii=False) + "\n"


def as_markdown(rows: Sequence[Row]) -> str:
    """A table for documents; numbers have at most three places."""
    header = list(rows[0])
    right = [all(_is_number(row[name]) or row[name] is None for row in rows) for name in header]
    lines = [header, ["---:" if number else "---" for number in right]]
    lines += [[_cell(row[name]) for name in header] for row in rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in lines)


TEXTS: Mapping[Format, Callable[[Sequence[Row]], str]] = {
    Format.CSV: as_csv,
    Format.JSON: as_json,
    Format.MARKDOWN: as_markdown,
}


def write_rows(rows: Sequence[Row], path: Path, form: Format) -> None:
    """Write rows into a file that appears whole or not at all."""
    if form is Format.PARQUET:
        _write_parquet(rows, path)
        return
    with whole_file(path) as stream:
        stream.write(TEXTS[form](rows))


def _write_parquet(rows: Sequence[Row], path: Path) -> None:
    try:
        import pyarrow as arrow
        from pyarrow import parquet
    except ImportError:
        raise InputInvalid(
            "pyarrow, which writes Parquet, is not installed",
            remedy="Install it: pip install 'tenuto[lab]', or choose another format",
        ) from None
    columns = {name: arrow.array(_column([row[name] for row in rows])) for name in rows[0]}
    for name, column in columns.items():
        if column.type == arrow.null():  # a column that happens to be empty has a type all the same
            columns[name] = column.cast(arrow.string())
    with written_beside(path) as part:
        parquet.write_table(arrow.table(columns), part)


def _column(values: list[Any]) -> list[Any]:
    """A column's values of one type; settings of one name may be a number here and a word there."""
    kinds = {type(value) for value in values if value is not None}
    if len(kinds) > 1 and not kinds <= {int, float}:
        return [None if value is None else str(value) for value in values]
    return [float(value) for value in values] if kinds == {int, float} and None not in values else values


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.3f}".rstrip("0").rstrip(".")
    return str(value).replace("|", "\\|")
