"""Strict reading of the small CSV files that describe clusters, profiles and traces.

Every complaint names the file, the line and the column, because these files are edited by hand. Lines that
begin with `#` before the header are comments; blank lines are skipped, but counted.
"""

from __future__ import annotations

import csv
import io
import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from tenuto.errors import InputInvalid, Place

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tenuto.model.columns import Flags, Floats, Ints

# The largest number up to which a float counts in steps of one.
_LARGEST_WHOLE = 2.0**53


@dataclass(frozen=True)
class Table:
    """The rows of one file, still as text, with where they stand."""

    file: str
    comments: tuple[str, ...]
    header: tuple[str, ...]
    header_line: int
    rows: Sequence[Sequence[str]]
    lines: Sequence[int]
    """1-based line of each row."""

    def has(self, column: str) -> bool:
        """Tell whether the header names this column."""
        return column in self.header

    def column(self, name: str) -> list[str]:
        """All cells of a column, without surrounding blanks."""
        index = self.header.index(name)
        return [row[index].strip() for row in self.rows]

    def refuse(
        self, problem: str, remedy: str, *, row: int | None = None, column: str | None = None
    ) -> NoReturn:
        """Complain about one cell, or about the header if no row is given."""
        line = self.header_line if row is None else self.lines[row]
        raise InputInvalid(problem, remedy=remedy, place=Place(self.file, line, column))

    def numbers(self, column: str) -> Floats:
        """All cells of a column as finite numbers."""
        cells = self.column(column)
        numbers = np.array([plain_number(cell) for cell in cells])
        for row in np.flatnonzero(~np.isfinite(numbers)).tolist():
            self.number(row, column, cells[row])
        return numbers

    def number(self, row: int, column: str, cell: str) -> float:
        """One cell as a finite number."""
        number = plain_number(cell)
        if not math.isfinite(number):
            what = f"{cell!r} is not a number" if cell else "a number is missing"
            self.refuse(what, "Write a plain number such as 3600 or 0.5", row=row, column=column)
        return number

    def whole_numbers(self, column: str) -> Ints:
        """All cells of a column as integers of 1 or more."""
        numbers = self.numbers(column)
        whole = (numbers == np.floor(numbers)) & (numbers >= 1) & (numbers < _LARGEST_WHOLE)
        self.require(whole, column, "is not a whole number of 1 or more", "Write a number such as 1, 2 or 64")
        return numbers.astype(np.int64)

    def ids(self, column: str) -> tuple[str, ...]:
        """All cells of a column as names on one line, no two alike."""
        ids = self.column(column)
        first_row: dict[str, int] = {}
        for row, name in enumerate(ids):
            if not name:
                self.refuse("the job has no id", "Give each job an id of its own", row=row, column=column)
            if "\n" in name or "\r" in name:
                self.refuse(
                    f"{name!r} runs over a line end", "Write the id on one line", row=row, column=column
                )
            if first_row.setdefault(name, row) != row:
                self.refuse(
                    f"job {name!r} is already on line {self.lines[first_row[name]]}",
                    "Give each job an id of its own",
                    row=row,
                    column=column,
                )
        return tuple(ids)

    def require(self, holds: Flags, column: str, problem: str, remedy: str) -> None:
        """Refuse the first row for which something does not hold."""
        if not holds.all():
            row = int(np.argmin(holds))
            self.refuse(f"{self.column(column)[row]!r} {problem}", remedy, row=row, column=column)


def plain_number(cell: str) -> float:
    """Read a number written in plain digits; anything else is NaN."""
    # float() also takes "1_000" and digits of every script; a data file should not.
    if not cell.isascii() or "_" in cell:
        return math.nan
    try:
        return float(cell)
    except ValueError:
        return math.nan


def read_text(path: Path) -> str:
    """Read a file as UTF-8; a byte order mark is tolerated."""
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise InputInvalid(
            "there is no such file", remedy="Check the path for a typing mistake", place=Place(str(path))
        ) from None
    except OSError as error:
        raise InputInvalid(
            f"the file cannot be read ({error.strerror})",
            remedy="Check that it is a file and that you may read it",
            place=Place(str(path)),
        ) from None
    return decode(content, str(path))


def decode(content: bytes, file: str) -> str:
    """Take bytes as UTF-8 text; a byte order mark is tolerated."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputInvalid(
            f"byte {error.start + 1} is not UTF-8",
            remedy="Save the file as UTF-8 text, not as a spreadsheet or in an older encoding",
            place=Place(file, content.count(b"\n", 0, error.start) + 1),
        ) from None


def delimiter_of(file: str) -> str:
    """Blanks separate the fields of `.txt` files, commas those of all others."""
    return " " if file.lower().endswith(".txt") else ","


def parse_table(text: str, file: str) -> Table:
    """Split a file's text into a table with at least one row, all rows as long as the header."""
    comments = _leading_comments(text)
    records = _records(text, file, skip=len(comments))
    if not records:
        raise InputInvalid("the file is empty", remedy="Give a file with a header line", place=Place(file))
    (header_line, header), *rest = records
    table = Table(
        file=file,
        comments=tuple(line.strip("# \r\n") for line in comments),
        header=tuple(name.strip() for name in header),
        header_line=header_line,
        rows=[row for _, row in rest],
        lines=[line for line, _ in rest],
    )
    _check_shape(table)
    return table


def _leading_comments(text: str) -> list[str]:
    # Taken off before the fields are split: a comment may contain quotation marks.
    return list(itertools.takewhile(lambda line: line.startswith("#"), io.StringIO(text)))


def _records(text: str, file: str, skip: int) -> list[tuple[int, list[str]]]:
    stream = io.StringIO(text, newline="")
    for _ in range(skip):
        stream.readline()
    delimiter = delimiter_of(file)
    reader = csv.reader(stream, delimiter=delimiter, skipinitialspace=delimiter == ",", strict=True)
    try:
        return [(skip + reader.line_num, row) for row in reader if len(row) > 1 or (row and row[0].strip())]
    except csv.Error as error:
        raise InputInvalid(
            f"the line cannot be split into fields ({error})",
            remedy='Close every quotation mark, and write "" for one inside a quoted field',
            place=Place(file, skip + reader.line_num),
        ) from None


def _check_shape(table: Table) -> None:
    for name in table.header:
        if table.header.count(name) > 1:
            table.refuse(f"the header names {name!r} twice", "Keep one of the columns", column=name)
    if not table.rows:
        table.refuse("there is a header but no row", "Add at least one row below the header")
    width = len(table.header)
    for row, fields in enumerate(table.rows):
        if len(fields) != width:
            named = table.header[len(fields)] if len(fields) < width else table.header[-1]
            table.refuse(
                f"{len(fields)} fields where the header has {width}",
                "Write one field per column, and quote fields that contain the separator",
                row=row,
                column=named,
            )


def require_columns(table: Table, wanted: Sequence[str], remedy: str) -> None:
    """Refuse a table whose header lacks one of the wanted columns."""
    for name in wanted:
        if not table.has(name):
            table.refuse(f"the header has no column {name!r}", remedy, column=name)
