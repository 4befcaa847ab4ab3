"""Numbers over time as lines of CSV: one for each value that is known. Pure."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence

from tenuto.wire.quantities import rfc3339
from tenuto.wire.series import unit_of

HEADER = ("at", "kind", "subject", "part", "name", "value", "unit")
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")
"""What a spreadsheet would execute."""


def safe(text: str) -> str:
    """A text that no spreadsheet takes for a formula, whoever chose it."""
    return f"'{text}" if text.startswith(_FORMULA) else text


def written(rows: Iterator[tuple[object, ...]] | Sequence[tuple[object, ...]]) -> str:
    """Lines of CSV."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def rows_of(
    subject: tuple[str, str, str], at: Sequence[float], values: Mapping[str, Sequence[float | None]]
) -> Iterator[tuple[object, ...]]:
    """One row for each known value of a subject (its kind, name and part), by moment."""
    kind, name, part = subject
    whose = (kind, safe(name), safe(part))
    columns = [(safe(value), column, unit_of(part, value)) for value, column in values.items()]
    for index, moment in enumerate(at):
        told = rfc3339(moment)
        for value, column, unit in columns:
            number = column[index]
            if number is not None and number == number:
                yield (told, *whose, value, repr(float(number)), unit)
