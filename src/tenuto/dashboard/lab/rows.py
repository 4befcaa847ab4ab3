"""Rows of the laboratory's tables: runs, what came out of them, the numbers behind a figure. Pure."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from tenuto.dashboard.lab.record import Run, State
from tenuto.dashboard.wording import NONE, span
from tenuto.lab.past_words import REASONS
from tenuto.wire.quantities import rfc3339

COLUMNS: Mapping[str, str] = {
    "policy": "policy",
    "deadline_jobs": "deadline jobs",
    "admitted": "admitted",
    "declined": "declined",
    "met": "met",
    "missed": "missed",
    "ratio": "ratio",
    "mean_jct": "mean JCT",
    "median_jct": "median JCT",
    "makespan": "makespan",
    "mean_efficiency": "efficiency",
    "mean_allocated": "slots used",
}
"""What `tenuto replay` prints, under the same names."""
_SPANS = ("mean_jct", "median_jct", "makespan")
_SHARES = ("ratio", "mean_efficiency")
MOST_NUMBERS = 300
"""Of a figure, that are shown; the file has all."""


def result_rows(tellings: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """One for each policy, and one for what really was; written as they are shown."""
    return [{name: _cell(name, telling["row"].get(name)) for name in COLUMNS} for telling in tellings]


def _cell(name: str, value: Any) -> str:
    if value is None:
        return NONE
    if name in _SPANS:
        return span(value)
    if name in _SHARES:
        return f"{value:.3f}"
    if name == "mean_allocated":
        return f"{value:.1f}"
    return f"{value:,}" if isinstance(value, int) else str(value)


def run_row(run: Run) -> dict[str, Any]:
    """A run in the list of all."""
    return {
        "id": run.id,
        "title": run.title,
        "user": run.user,
        "created": rfc3339(run.created),
        "state": str(run.state),
        "part": run.part,
        "told": told_of(run),
        "live": run.state.live,
        "stopped": not run.state.live and run.state is not State.DONE,
        "tone": tone(run.state),
    }


def told_of(run: Run) -> str:
    """Where a run stands, in a few words."""
    if run.state is State.RUNNING:
        return f"{run.part:.0%}" + (f", {run.finished} of {run.cells} replays" if run.cells > 1 else "")
    if run.state is State.DONE and run.started is not None and run.ended is not None:
        return f"done in {span(run.ended - run.started)}"
    return str(run.state)


def tone(state: State) -> str:
    """The class of its colour."""
    if state is State.DONE:
        return "t-good"
    if state is State.FAILED:
        return "t-bad"
    return "t-warn" if state is State.INTERRUPTED else "t-muted"


def remarks_on(past: Mapping[str, Any]) -> list[str]:
    """What about the platform's own past is not quite as it was, or missing."""
    said = []
    for what, counts in (
        ("not quite as they were", past.get("guesses", {})),
        ("left out", past.get("left_out", {})),
    ):
        said += [f"{count:,} {what}: {REASONS.get(code, code)}" for code, count in sorted(counts.items())]
    if past.get("nodes_changes"):
        share = f"{past['nodes_share']:.0%}"
        said.append(f"the nodes changed {past['nodes_changes']} times; these were there {share} of the time")
    return said


def numbers_of(lines: Iterable[str]) -> tuple[list[dict[str, str]], bool]:
    """The numbers behind a figure, from its file, and whether there are more than are shown."""
    rows = list(islice(csv.DictReader(lines), MOST_NUMBERS + 1))
    return [{name: _number(value) for name, value in row.items()} for row in rows[:MOST_NUMBERS]], len(
        rows
    ) > MOST_NUMBERS


def _number(text: str) -> str:
    try:
        return f"{float(text):.6g}"
    except ValueError:
        return text
