"""Reading back what a cell wrote."""

from __future__ import annotations

import csv
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tenuto.errors import InputInvalid, Place
from tenuto.lab.cell import Cell
from tenuto.model.columns import Flags, Floats, Ints
from tenuto.sim.outcome import Events
from tenuto.sim.report import Summary
from tenuto.sim.result_files import MANIFEST


@dataclass(frozen=True)
class Jobs:
    """The columns of jobs.csv, in the order of the trace. Times that never came are NaN."""

    ids: tuple[str, ...]
    submitted: Floats
    deadline: Floats
    """NaN where there is none."""
    best_effort: Flags
    admitted: Flags
    reason: tuple[str, ...]
    promised: Floats
    started: Floats
    finished: Floats
    met: Flags
    last_slots: Ints
    changes: Ints
    preempted: Ints

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class Result:
    """One finished cell."""

    cell: Cell
    folder: Path
    summary: Summary

    def jobs(self) -> Jobs:
        """What became of every job."""
        table = _Columns(self.folder / "jobs.csv")
        return Jobs(
            ids=table.words("job_id"),
            submitted=table.numbers("submitted"),
            deadline=table.numbers("deadline"),
            best_effort=table.flags("best_effort"),
            admitted=table.flags("admitted"),
            reason=table.words("reason"),
            promised=table.numbers("promised"),
            started=table.numbers("started"),
            finished=table.numbers("finished"),
            met=table.flags("met"),
            last_slots=table.counts("last_slots"),
            changes=table.counts("changes"),
            preempted=table.counts("preempted"),
        )

    def events(self) -> Events:
        """What the cluster was like after every round."""
        table = _Columns(self.folder / "events.csv")
        return Events(
            time=table.numbers("time"),
            efficiency=table.numbers("efficiency"),
            busy=table.counts("busy_slots"),
            running=table.counts("running"),
            waiting=table.counts("waiting"),
        )


def load_result(folder: Path) -> Result | None:
    """Read a cell's manifest; None if nothing is there, or nothing that was written to the end."""
    try:
        manifest = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        summary = Summary(**manifest["summary"])
        told = {"trace": summary.trace, "policy": summary.policy, **manifest["arguments"]}
        return Result(Cell.from_arguments(told), folder, summary)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


class _Columns:
    """The cells of a file of ours, by column."""

    def __init__(self, path: Path) -> None:
        try:
            with path.open(encoding="utf-8", newline="") as stream:
                header, *rows = csv.reader(stream)
        except (OSError, ValueError) as error:
            raise InputInvalid(
                f"the results cannot be read ({error})",
                remedy="Remove the directory and run the experiment again",
                place=Place(str(path)),
            ) from None
        self._columns = dict(zip(header, zip(*rows, strict=True), strict=True)) if rows else {}

    def words(self, name: str) -> tuple[str, ...]:
        return self._columns.get(name, ())

    def numbers(self, name: str) -> Floats:
        return np.array([float(cell) if cell else np.nan for cell in self.words(name)], dtype=np.float64)

    def counts(self, name: str) -> Ints:
        return np.array([int(cell) for cell in self.words(name)], dtype=np.int64)

    def flags(self, name: str) -> Flags:
        return np.array([cell == "1" for cell in self.words(name)], dtype=np.bool_)
