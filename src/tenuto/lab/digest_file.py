"""What a page shows of an errand's results, in one small file that is written anew whenever there are more."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tenuto.lab.as_it_was import as_it_was
from tenuto.lab.digest import Telling
from tenuto.lab.orders import DIGEST, INPUTS, PAST_JOBS
from tenuto.lab.past_export import export_of
from tenuto.lab.results import load_result
from tenuto.lab.task import Task
from tenuto.sim.whole_file import whole_file


class DigestFile:
    """Reads each cell once, when it has ended."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / DIGEST
        self._order: list[str] = []
        self._shown: dict[str, dict[str, Any]] = {}
        self._really: list[dict[str, Any]] = []
        self._zero: float | None = None
        """The Unix time at which the trace began, if it is of a real past."""
        self._about: Mapping[str, Any] = {}
        past = directory / INPUTS / PAST_JOBS
        if past.exists():
            told = json.loads(past.read_text(encoding="utf-8"))
            export = export_of(told["jobs"], told["time"])
            self._zero, self._about = export.told.zero, export.about()
            self._really = [as_it_was(told["jobs"], export.told.workload.trace.ids, self._zero).shown()]

    def begin(self, tasks: Sequence[Task]) -> None:
        """Show what is there, in the order of the tasks."""
        self._order = [task.key for task in tasks]
        for task in tasks:
            self._read(task)
        self._write()

    def add(self, task: Task) -> None:
        """A task has ended."""
        self._read(task)
        self._write()

    def _read(self, task: Task) -> None:
        if (result := load_result(task.folder)) is not None:
            self._shown[task.key] = Telling.of(result).shown()

    def _write(self) -> None:
        shown = [self._shown[key] for key in self._order if key in self._shown]
        told = {"zero": self._zero, "past": self._about, "tellings": [*self._really, *shown]}
        with whole_file(self._path) as stream:
            stream.write(json.dumps(told, ensure_ascii=False))
