"""Results as rows: one for each cell, in an order that depends on nothing but the cells."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

from tenuto.errors import InputInvalid
from tenuto.lab.cell import Cell
from tenuto.lab.results import Result
from tenuto.sim.report import Summary
from tenuto.suggest import did_you_mean

Row = dict[str, Any]

NAMES = ("trace", "cluster", "policy")
"""In every report, whether they vary or not."""
TIMINGS = ("cpu_s", "compile_s")
"""They differ from run to run, and are told only on request."""
NUMBERS = tuple(
    field.name for field in fields(Summary) if field.name not in (*NAMES, *TIMINGS, "slot", "compat")
)
"""What a replay amounts to."""
_OF_A_CELL = tuple(
    field.name for field in fields(Cell) if field.name not in (*NAMES, "slot", "compat", "settings")
)


def rows_of(results: Sequence[Result], *, timings: bool = False) -> list[Row]:
    """One row for each cell: what it was, as far as the cells differ in it, and what came out."""
    varied = [name for name in _OF_A_CELL if len({_short(result, name) for result in results}) > 1]
    settings = sorted({name for result in results for name, _ in result.cell.settings})
    numbers = (*NUMBERS, *(TIMINGS if timings else ()))
    rows = []
    for result in results:
        summary, told = asdict(result.summary), dict(result.cell.settings)
        row = {name: summary[name] for name in NAMES}
        row |= {_column(name): told.get(name) for name in settings}
        row |= {name: summary[name] for name in ("slot", "compat")}
        row |= {name: _short(result, name) for name in varied}
        rows.append(row | {name: summary[name] for name in numbers})
    parameters = [name for name in (rows[0] if rows else {}) if name not in numbers]
    return sorted(rows, key=lambda row: [_rank(row[name]) for name in parameters])


def _short(result: Result, name: str) -> Any:
    """A parameter as a report tells it: files without their directories."""
    value = getattr(result.cell, name)
    return Path(value).stem if name in ("profiles", "overhead") else value


def _column(setting: str) -> str:
    """The column of a policy's setting; it must not hide another one."""
    known = {field.name for field in (*fields(Summary), *fields(Cell))}
    return f"setting_{setting}" if setting in known else setting


def _rank(value: Any) -> tuple[int, Any]:
    """Nothing comes first, then numbers by size, then words."""
    if value is None:
        return (0, 0)
    return (1, value) if isinstance(value, int | float) else (2, str(value))


def averaged(rows: Sequence[Row], by: Sequence[str]) -> list[Row]:
    """One row for all that are alike in some columns, with the means of the numbers."""
    numbers = [name for name in rows[0] if name in (*NUMBERS, *TIMINGS)]
    known = [name for name in rows[0] if name not in numbers]
    for name in by:
        if name not in known:
            raise InputInvalid(
                f"there is no column {name!r} to report by",
                remedy=f"{did_you_mean(name, known)}There are {', '.join(known)}",
            )
    groups: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row[name] for name in by), []).append(row)
    return [
        {**dict(zip(by, values, strict=True)), "cells": len(group), **_means(group, numbers)}
        for values, group in sorted(groups.items(), key=lambda pair: [_rank(value) for value in pair[0]])
    ]


def _means(group: Sequence[Mapping[str, Any]], numbers: Sequence[str]) -> Row:
    means: Row = {}
    for name in numbers:
        known = [row[name] for row in group if row[name] is not None]
        means[name] = sum(known) / len(known) if known else None
    return means
