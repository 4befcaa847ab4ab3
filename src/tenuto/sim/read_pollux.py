"""Traces of Pollux's simulator: applications that train to their end, without a duration and often without steps.

What is missing is filled in: steps from the samples to be seen, or else from the whole training that was
recorded at that batch size; the duration from the speed that the profiles give.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tenuto.sim.read_trace import deadlines_of, models_of, submissions_of
from tenuto.sim.table import Table, parse_table, read_text, require_columns
from tenuto.sim.trace import Trace, in_order_of_submission

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tenuto.model.columns import Floats, Ints
    from tenuto.model.curve import Profiles

NEEDED = ("name", "time", "application", "num_replicas", "batch_size")
DEADLINE = "ddl"
SAMPLES = ("samples", "max_sample")

ROUNDING = 1e-9
"""A quotient that is so little above a whole number is that number."""


@dataclass(frozen=True)
class Completed:
    """A trace, and what it was completed with."""

    trace: Trace
    remark: str


def read_pollux(table: Table, profiles: Profiles) -> Completed:
    """Make a trace of Pollux's columns; a job without a deadline is best effort."""
    require_columns(table, NEEDED, f"Pollux's columns are {','.join(NEEDED)}, {DEADLINE} and {SAMPLES[0]}")
    submitted = submissions_of(table, "time")
    models = models_of(table, "application")
    batch, requested = table.whole_numbers("batch_size"), table.whole_numbers("num_replicas")
    if table.has(DEADLINE):
        deadline, best_effort = deadlines_of(table, DEADLINE, submitted, "time", unmarked="")
    else:
        deadline, best_effort = np.full(len(models), np.inf), np.ones(len(models), dtype=np.bool_)
    samples = _samples(table)
    steps = _steps(table, models, batch, samples)
    trace = Trace(
        name=Path(table.file).stem,
        source=table.file,
        ids=table.ids("name"),
        models=models,
        batch=batch,
        submitted=submitted,
        steps=steps,
        deadline=deadline,
        best_effort=best_effort,
        requested=requested,
        duration=_whole_seconds(steps / _rates(table, profiles, models, batch, requested), samples),
        position=np.arange(len(models), dtype=np.int64),
        line=np.array(table.lines, dtype=np.int64),
    )
    remark = f"Durations are those of the {profiles.name} profiles."
    if unsaid := int(np.isnan(samples).sum()):
        remark += f" {unsaid} jobs without samples train to their end, as recorded for their batch size."
    return Completed(in_order_of_submission(trace), remark)


def _samples(table: Table) -> Floats:
    """How many samples each job sees; NaN where the file does not say it."""
    column = next((name for name in SAMPLES if table.has(name)), None)
    if column is None:
        return np.full(len(table.rows), np.nan)
    cells = table.column(column)
    samples = np.array(
        [table.number(row, column, cell) if cell else np.nan for row, cell in enumerate(cells)]
    )
    table.require(~(samples <= 0), column, "is not above 0", "Write how many samples to see, or nothing")
    return samples


def _steps(table: Table, models: tuple[str, ...], batch: Ints, samples: Floats) -> Floats:
    steps = np.ceil(samples / batch)
    for row in np.flatnonzero(np.isnan(samples)).tolist():
        steps[row] = _whole_training(table, row, models[row], int(batch[row]))
    return steps


def _whole_training(table: Table, row: int, model: str, batch: int) -> int:
    recorded = whole_trainings()
    if (model, batch) not in recorded:
        batches = sorted(known for name, known in recorded if name == model)
        table.refuse(
            f"how long {model} trains at batch {batch} was not recorded",
            f"Add a column {SAMPLES[0]} with the samples that the job sees"
            + (f", or use one of {', '.join(map(str, batches))}" if batches else ""),
            row=row,
            column="batch_size" if batches else "application",
        )
    return recorded[model, batch]


@cache
def whole_trainings() -> Mapping[tuple[str, int], int]:
    """Steps of the recorded trainings by model and batch, from the tables that come with tenuto."""
    path = Path(str(resources.files("tenuto"))) / "data" / "pollux" / "statistics.csv"
    table = parse_table(read_text(path), str(path))
    batches, steps = table.whole_numbers("batch"), table.whole_numbers("iterations")
    longest: Counter[tuple[str, int]] = Counter()
    for model, batch, done in zip(table.column("application"), batches.tolist(), steps.tolist(), strict=True):
        longest[model, batch] = max(longest[model, batch], done)
    return longest


def _rates(table: Table, profiles: Profiles, models: tuple[str, ...], batch: Ints, requested: Ints) -> Floats:
    """Steps per second of each job on the replicas it asks for."""
    rates = np.zeros(len(models))
    for row, (model, size, replicas) in enumerate(
        zip(models, batch.tolist(), requested.tolist(), strict=True)
    ):
        curve = profiles.curves.get((model, size))
        rates[row] = 0.0 if curve is None else curve.rate.get(replicas, 0.0)
        if rates[row] == 0.0:
            table.refuse(
                f"the {profiles.name} profiles do not know {model} at batch {size} on {replicas} slots",
                "Choose others with --profiles, or add a line for it",
                row=row,
                column="num_replicas" if profiles.batches(model) else "application",
            )
    return rates


def _whole_seconds(seconds: Floats, samples: Floats) -> Floats:
    """Undo the rounding with which steps and durations were made of each other.

    Where a trace was converted to samples, steps had been cut off from whole seconds; where the reference made
    Pollux' jobs comparable to ours, seconds were cut off from whole trainings.
    """
    whole = np.where(np.isnan(samples), np.trunc(seconds), np.ceil(seconds - ROUNDING))
    return np.maximum(1.0, whole)
