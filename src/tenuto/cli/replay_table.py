"""How replays are shown in a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np
from rich.table import Table
from rich.text import Text

from tenuto.cli.console import Console
from tenuto.lab.replay import Replay
from tenuto.sim.report import Summary

WIDE = 132
"""Columns that the longest table needs."""


def print_table(console: Console, summaries: Sequence[Summary], changes: str = "") -> None:
    """Print one line for each replay; the title tells what was set differently."""
    traces = {summary.trace for summary in summaries}
    first = summaries[0]
    semantics = "" if first.compat is None else f", --compat {first.compat}"
    where = f"{first.trace} on {first.cluster}" if len(traces) == 1 else f"on {first.cluster}"
    title = f"{where}, slot {first.slot:g} s{semantics}{changes and f', {changes}'}"
    table = Table(title=Text(title), title_justify="left", box=None, pad_edge=False)
    names = ["trace"] if len(traces) > 1 else []
    for name in (*names, "policy"):
        table.add_column(name)
    for name in (
        "deadline\njobs", "admitted", "declined", "met", "missed", "ratio", "mean\nJCT", "median\nJCT",
        "makespan", "effi-\nciency", "slots\nused", "CPU s",
    ):  # fmt: skip
        table.add_column(name, justify="right", vertical="bottom")
    for summary in summaries:
        table.add_row(*([summary.trace] if names else []), *_cells(summary))
    # A narrow terminal breaks the lines; cutting names and numbers short would be worse.
    wide = Console(file=console.file, width=max(console.width, WIDE))
    wide.print(table, crop=False)


def _cells(summary: Summary) -> tuple[str, ...]:
    return (
        summary.policy,
        f"{summary.deadline_jobs:,}",
        f"{summary.admitted:,}",
        f"{summary.declined:,}",
        f"{summary.met:,}",
        f"{summary.missed:,}",
        fraction(summary.ratio),
        duration(summary.mean_jct),
        duration(summary.median_jct),
        duration(summary.makespan),
        fraction(summary.mean_efficiency),
        "-" if summary.mean_allocated is None else f"{summary.mean_allocated:.1f}",
        f"{summary.cpu_s:.2f}",
    )


def fraction(value: float | None) -> str:
    """Write a share of one."""
    return "-" if value is None else f"{value:.3f}"


def duration(seconds: float | None) -> str:
    """Write a time span with its two largest units."""
    if seconds is None:
        return "-"
    whole = round(seconds)
    days, hours, minutes = whole // 86400, whole // 3600 % 24, whole // 60 % 60
    if days:
        return f"{days}d{hours:02}h"
    if hours:
        return f"{hours}h{minutes:02}m"
    return f"{minutes}m{whole % 60:02}s"


def print_details(console: Console, replays: Sequence[Replay]) -> None:
    """Tell how each replay went."""
    for done in replays:
        summary, outcome = done.summary, done.outcome
        reasons = Counter(reason for reason in outcome.reason if reason)
        refused = ", ".join(f"{count} {reason}" for reason, count in reasons.items()) or "nobody"
        rate = len(done.workload.trace) / summary.cpu_s if summary.cpu_s else float("inf")
        console.print(
            f"{summary.trace}, {summary.policy}: {summary.rounds:,} rounds, "
            f"{int(np.sum(outcome.changes)):,} changes of size or place, {rate:,.0f} jobs per CPU second "
            f"(kernels loaded in {summary.compile_s:.2f} s before); refused: {refused}; "
            f"promises broken: {summary.broken}",
            highlight=False,
            soft_wrap=True,
        )
