"""A cell that is ready to be run: its inputs found, and a directory of its own for what it writes."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from tenuto.errors import InputInvalid
from tenuto.lab.cell import Cell
from tenuto.lab.replay import Tell, load_kernels, replay
from tenuto.lab.results import Result
from tenuto.lab.sources import Sources
from tenuto.sim.result_files import write_results

CELLS = "cells"
"""The directory below an experiment's in which every cell has its own."""

LONGEST = 60
"""Letters of a trace's or policy's name that a directory's name keeps: file systems allow 255 bytes."""


@dataclass(frozen=True, slots=True)
class Task:
    """What a process needs to know to run a cell."""

    cell: Cell
    folder: Path
    name: str
    """As people call the cell: policy, trace and cluster."""
    key: str
    jobs: int


def task_of(cell: Cell, out: Path, sources: Sources) -> Task:
    """Find where a cell's results belong. The name tells what it is, the hash tells it from all others."""
    trace, cluster = sources.trace(cell.trace)[0], sources.cluster(cell.cluster)
    policy, key = sources.policy_of(cell), sources.key(cell)
    words = [trace.name, cluster.name, policy.name, *([cell.compat] if cell.compat else []), key]
    name = "-".join(re.sub(r"[^\w.+-]", "_", word)[:LONGEST] for word in words)
    return Task(cell, out / CELLS / name, f"{policy.name} on {trace.name}, {cluster.name}", key, len(trace))


class Bench:
    """Runs tasks one after the other; what it has read and loaded stays for the next one."""

    def __init__(self) -> None:
        self._sources = Sources()
        self._compile_s: dict[tuple[str, str | None], float] = {}

    def load(self, task: Task) -> None:
        """Load or compile the kernels that a task needs."""
        cell = task.cell
        kind = (cell.policy, cell.compat)
        if kind not in self._compile_s:
            self._compile_s[kind] = load_kernels(self._sources.policy_of(cell), cell.terms)

    def run(self, task: Task, tell: Tell) -> Result:
        """Replay a cell whose kernels are loaded, and write its files; the manifest comes last."""
        cell, sources = task.cell, self._sources
        if sources.key(cell) != task.key:
            raise InputInvalid(
                "an input was changed while the experiment ran", remedy="Run the experiment again"
            )
        compile_s = self._compile_s[cell.policy, cell.compat]
        done = replay(sources.workload_of(cell), sources.policy_of(cell), cell.terms, tell, compile_s)
        if task.folder.exists():
            shutil.rmtree(task.folder)
        write_results(
            task.folder,
            done.workload,
            done.outcome,
            done.summary,
            cell.arguments(),
            inputs=sources.hashes(cell),
        )
        return Result(cell, task.folder, done.summary)
