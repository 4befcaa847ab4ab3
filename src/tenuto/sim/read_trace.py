"""Traces from files: ours, the reference's, the published ones and Chronus', told apart only by their columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tenuto.sim.table import Table, parse_table, read_text
from tenuto.sim.trace import Trace, in_order_of_submission

if TYPE_CHECKING:
    from pathlib import Path

    from tenuto.model.columns import Flags, Floats

# Where a file has several spellings of one thing, the first one counts: the reference's own precedence.
SPELLINGS = {
    "id": ("job_id",),
    "submission": ("submission_time", "submit_time", "submitted"),
    "work": ("iteration", "num_iteration", "steps", "iterations"),
    "model": ("model_name", "model"),
    "deadline": ("deadline", "ddl", "expect_time_list"),
    "batch": ("batch_size", "global_batch"),
    "request": ("num_gpu", "slots"),
    "duration": ("duration",),
}
FLAG = "best_effort"
SECONDS_ALLOWED = "expect_time_list"
"""Chronus' deadline counts from the submission."""
CLASS, BEST_EFFORT_CLASS = "job_type", "best"
"""How Chronus' own traces mark best-effort jobs."""


def read_trace(path: Path) -> Trace:
    """Read a trace that can be replayed: comma separated, or blank separated if the name ends in `.txt`."""
    return parse_trace(read_text(path), file=str(path), name=path.stem)


def parse_trace(text: str, *, file: str, name: str) -> Trace:
    """Make a trace of a file's text; `file` names it in messages."""
    table = parse_table(text, file)
    spelled = _spellings(table)
    submitted = submissions_of(table, spelled["submission"])
    deadline, best_effort = deadlines_of(table, spelled["deadline"], submitted, spelled["submission"])
    return in_order_of_submission(
        Trace(
            name=name,
            source=file,
            ids=table.ids(spelled["id"]),
            models=models_of(table, spelled["model"]),
            batch=table.whole_numbers(spelled["batch"]),
            submitted=submitted,
            steps=_above_zero(table, spelled["work"]),
            deadline=deadline,
            best_effort=best_effort,
            requested=table.whole_numbers(spelled["request"]),
            duration=_above_zero(table, spelled["duration"]),
            position=np.arange(len(table.rows), dtype=np.int64),
            line=np.array(table.lines, dtype=np.int64),
        )
    )


def is_raw(table: Table) -> bool:
    """Tell whether a file is a raw log: it says how long jobs ran, but not what they were."""
    missing = ("work", "model", "deadline", "batch")
    return table.has("duration") and not any(table.has(name) for what in missing for name in SPELLINGS[what])


def is_pollux(table: Table) -> bool:
    """Tell whether a file has the columns of Pollux's simulator."""
    return table.has("application") and table.has("num_replicas")


def _spellings(table: Table) -> dict[str, str]:
    found = {
        meaning: next((name for name in names if table.has(name)), None)
        for meaning, names in SPELLINGS.items()
    }
    if is_raw(table):
        table.refuse(
            "this is a raw log: it does not say which model each job trains, nor by when",
            f"Make a trace of it first: tenuto trace convert {table.file}",
            column=SPELLINGS["model"][0],
        )
    if is_pollux(table):
        table.refuse(
            "this is a trace of Pollux: it does not say how long each job takes",
            f"Make a trace of it first: tenuto trace convert {table.file} --profiles t4",
            column="application",
        )
    spelled: dict[str, str] = {}
    for meaning, name in found.items():
        if name is None:
            names = SPELLINGS[meaning]
            table.refuse(
                f"the header has no column for the {meaning}",
                f"Name it {' or '.join(names)}",
                column=names[0],
            )
        spelled[meaning] = name
    return spelled


def models_of(table: Table, column: str) -> tuple[str, ...]:
    """Each job's model."""
    models = table.column(column)
    if "" in models:
        row = models.index("")
        table.refuse(
            "the job has no model", "Write the model's name as in the profiles", row=row, column=column
        )
    return tuple(models)


def submissions_of(table: Table, column: str) -> Floats:
    """When each job was submitted, in seconds from the beginning."""
    submitted = table.numbers(column)
    table.require(
        submitted >= 0, column, "is negative", "Times count in seconds from the beginning, 0 or more"
    )
    return submitted


def _above_zero(table: Table, column: str) -> Floats:
    numbers = table.numbers(column)
    table.require(numbers > 0, column, "is not above 0", "Write a number above 0, or leave the job out")
    return numbers


def deadlines_of(
    table: Table, column: str, submitted: Floats, submission: str, *, unmarked: str = "0"
) -> tuple[Floats, Flags]:
    """By when each job must be done, and which ones have no deadline."""
    cells = table.column(column)
    marks = zip(_marks(table, unmarked), cells, strict=True)
    best_effort = np.array([_is_best_effort(table, row, *marked) for row, marked in enumerate(marks)])
    deadline = np.array(
        [
            np.inf if free else table.number(row, column, cells[row])
            for row, free in enumerate(best_effort.tolist())
        ]
    )
    remedy = "Write the time by which the job must be done, in seconds from the beginning of the trace"
    if column == SECONDS_ALLOWED:
        deadline += submitted
        remedy = "Write the seconds from its submission after which the job must be done"
    table.require(deadline > submitted, column, f"is not after the job's {submission}", remedy)
    return deadline, best_effort


def _marks(table: Table, unmarked: str) -> list[str]:
    """What the file says of best effort: `1`, `0` or nothing."""
    marks = table.column(FLAG) if table.has(FLAG) else [unmarked] * len(table.rows)
    if not table.has(CLASS):
        return marks
    kinds = table.column(CLASS)
    return ["1" if kind == BEST_EFFORT_CLASS else mark for kind, mark in zip(kinds, marks, strict=True)]


def _is_best_effort(table: Table, row: int, mark: str, deadline: str) -> bool:
    """Read the mark; where it is left empty, a job without a deadline is best effort."""
    if mark not in ("", "0", "1"):
        table.refuse(
            f"{mark!r} is neither 0 nor 1", "Write 1 for a best-effort job, else 0", row=row, column=FLAG
        )
    return mark == "1" or (mark == "" and deadline == "")
