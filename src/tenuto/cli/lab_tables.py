"""How results of the laboratory are shown in a terminal."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.table import Table
from rich.text import Text

from tenuto.cli.console import Console
from tenuto.cli.replay_table import WIDE, duration, fraction
from tenuto.lab.compare import Comparison
from tenuto.lab.report import NUMBERS, TIMINGS, Row
from tenuto.lab.results import Result

Show = Callable[[Any], str]


def _number(value: Any) -> str:
    """Whole numbers as they are, means of them with one place."""
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:,.1f}"


# The numbers that a terminal has room for, how they are headed and how they are written.
_SHOWN: Mapping[str, tuple[str, Show]] = {
    "deadline_jobs": ("deadline\njobs", _number),
    "admitted": ("admitted", _number),
    "declined": ("declined", _number),
    "met": ("met", _number),
    "missed": ("missed", _number),
    "broken": ("broken", _number),
    "ratio": ("ratio", fraction),
    "mean_jct": ("mean\nJCT", duration),
    "median_jct": ("median\nJCT", duration),
    "makespan": ("makespan", duration),
    "mean_efficiency": ("effi-\nciency", fraction),
    "mean_allocated": ("slots\nused", _number),
    "cpu_s": ("CPU s", lambda value: f"{value:.2f}"),
    "compile_s": ("kernels\nCPU s", lambda value: f"{value:.2f}"),
}


def print_rows(console: Console, rows: Sequence[Row], title: str) -> None:
    """Print one line for each row; what is the same in all of them stands in the title."""
    parameters = [name for name in rows[0] if name not in (*NUMBERS, *TIMINGS)]
    constant = [name for name in parameters if len(rows) > 1 and len({row[name] for row in rows}) == 1]
    told = [_parameter(name, rows[0][name]) for name in constant]
    heading = ", ".join((title, *(text for text in told if text)))
    table = Table(title=Text(heading), title_justify="left", box=None, pad_edge=False)
    varied = [name for name in parameters if name not in constant]
    shown = [name for name in rows[0] if name in _SHOWN]
    for name in varied:
        table.add_column(name, vertical="bottom", no_wrap=True)
    for name in shown:
        table.add_column(_SHOWN[name][0], justify="right", vertical="bottom", no_wrap=True)
    for row in rows:
        words = ["-" if row[name] is None else _plain(row[name]) for name in varied]
        table.add_row(*map(Text, words), *(_SHOWN[name][1](row[name]) for name in shown))
    wide(console).print(table, crop=False)


def wide(console: Console) -> Console:
    """A console that breaks no line of a table: cutting names and numbers short would be worse."""
    return Console(file=console.file, width=max(console.width, 2 * WIDE), soft_wrap=True)


def _parameter(name: str, value: Any) -> str:
    """What is the same in all rows; names speak for themselves."""
    if value is None:
        return ""
    return _plain(value) if name in ("trace", "cluster", "policy") else f"{name} {_plain(value)}"


def _plain(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


def print_comparison(console: Console, comparison: Comparison, *, jobs: bool) -> None:
    """Print what two results have in common and what they have not."""
    names = ("A", "B")
    for name, result in zip(names, (comparison.first, comparison.second), strict=True):
        console.print(Text(f"{name}: {_what(result)}"), soft_wrap=True)
    table = Table("", *names, "B - A", box=None, pad_edge=False)
    for column in table.columns[1:]:
        column.justify = "right"
    for number, (one, other) in comparison.numbers.items():
        show = _SHOWN.get(number, ("", _number))[1]
        table.add_row(number, show(one), show(other), _difference(one, other, show))
    console.print(table)
    _print_only(console, "A", comparison.only_first)
    _print_only(console, "B", comparison.only_second)
    if comparison.strangers:
        console.print(f"{comparison.strangers:,} jobs are in only one of the two traces.")
    if jobs:
        _print_jobs(console, comparison)


def _what(result: Result) -> str:
    summary = result.summary
    semantics = "" if summary.compat is None else f", compat {summary.compat}"
    settings = "".join(f", {name} {value}" for name, value in result.cell.settings)
    return (
        f"{summary.policy} on {summary.trace}, {summary.cluster}, slot {summary.slot:g}{semantics}{settings}"
        f" ({_near(result.folder)})"
    )


def _near(folder: Path) -> str:
    here = Path.cwd()
    return str(folder.relative_to(here) if folder.is_relative_to(here) else folder)


def _difference(one: Any, other: Any, show: Show) -> str:
    if one is None or other is None or one == other:
        return ""
    change = other - one
    return ("+" if change > 0 else "-") + show(abs(change))


def _print_only(console: Console, name: str, ids: Sequence[str], most: int = 20) -> None:
    count = f"{len(ids):,} deadlines" if len(ids) != 1 else "1 deadline"
    listed = ", ".join(ids[:most]) + (f" and {len(ids) - most:,} more" if len(ids) > most else "")
    console.print(Text(f"Only {name} met {count}{': ' + listed if ids else ''}"), soft_wrap=True)


def _print_jobs(console: Console, comparison: Comparison) -> None:
    table = Table("job", "A", "B", "finished A", "finished B", box=None, pad_edge=False)
    for pair in comparison.jobs:
        fates = [_fate(*fate) for fate in zip(pair.admitted, pair.met, pair.finished, strict=True)]
        ends = ["-" if end is None else f"{end:,.0f}" for end in pair.finished]
        table.add_row(Text(pair.job_id), *fates, *ends)
    wide(console).print(table, crop=False)


def _fate(admitted: bool, met: bool, finished: float | None) -> str:
    if met:
        return "met"
    if not admitted:
        return "declined"
    return "unfinished" if finished is None else "finished"
