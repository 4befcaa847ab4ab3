"""From measured changes of size to what a replay charges for them: a file for `tenuto replay --overhead`.

By the size that a job gets: a rescale costs the pause of training, a move the pause of a migration. A start costs what
newcomers need until they can train, and the forming of their group.
"""

from __future__ import annotations

import csv
import json
import statistics
from collections.abc import Iterable, Mapping
from pathlib import Path

Row = Mapping[str, str]
_MOVE = "migrate "


def write_overhead(path: Path, measurements: Path) -> None:
    """Make the file anew from every measurement that is written down."""
    with measurements.open(newline="", encoding="utf-8") as file:
        tables = tables_of(csv.DictReader(file))
    if tables:
        path.write_text(json.dumps(tables, indent=1) + "\n", encoding="utf-8")


def tables_of(rows: Iterable[Row]) -> dict[str, dict[str, float]]:
    """Median seconds by table and size; nothing if nothing was measured."""
    every = list(rows)
    moves = [row for row in every if row["case"].startswith(_MOVE)]
    rescales = [row for row in every if not row["case"].startswith(_MOVE)]
    found = {
        "start": _medians((row for row in every if float(row["warm_up_ms"])), "warm_up_ms", "form_ms"),
        "rescale": _medians(rescales, "pause_ms"),
        "move": _medians(moves, "pause_ms"),
    }
    tables = {name: table for name, table in found.items() if table}
    if tables and "start" not in tables:  # nobody was started: a replay must know something
        tables["start"] = tables.get("rescale") or tables["move"]
    return tables


def _medians(rows: Iterable[Row], *phases: str) -> dict[str, float]:
    """Seconds by size, ascending."""
    seconds: dict[int, list[float]] = {}
    for row in rows:
        spent = sum(float(row[phase]) for phase in phases) / 1000.0
        seconds.setdefault(_size_after(row["case"]), []).append(spent)
    return {str(size): round(statistics.median(seconds[size]), 6) for size in sorted(seconds)}


def _size_after(case: str) -> int:
    return int(case.removeprefix(_MOVE).rpartition("→")[2])
