"""A cell that is ready to be run: its inputs found, and a directory of its own for what it writes."""

from __future__ import annotations

import re
import shutil
import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tenuto.errors import InputInvalid, TenutoError
from tenuto.lab.cell import Cell, brief
from tenuto.lab.replay import Tell, load_kernels, replay
from tenuto.lab.sources import Sources
from tenuto.sim.result_files import write_results

CELLS = "cells"
"""The directory below an experiment's in which every cell has its own."""

LONGEST = 200
"""Bytes of a directory's name before the hash: file systems allow 255."""


@dataclass(frozen=True, slots=True)
class Task:
    """What a process needs to know to run a cell."""

    cell: Cell
    folder: Path
    key: str
    jobs: int

    @property
    def kernels(self) -> tuple[object, ...]:
        """Tasks that are alike in this need the same kernels."""
        cell = self.cell
        return (cell.policy, cell.placement, cell.compat)


def task_of(cell: Cell, out: Path, sources: Sources) -> Task:
    """Find where a cell's results belong. The name tells what it is, the hash tells it from all others."""
    trace, cluster = sources.trace(cell.trace), sources.cluster(cell.cluster)
    policy, key = sources.policy_of(cell), sources.key(cell)
    special = "-".join(f"{name}-{brief(value)}" for name, value in cell.special().items())
    words = [trace.name, cluster.name, policy.name, special]
    told = re.sub(r"[^\w.+-]", "_", "-".join(word for word in words if word))
    name = told.encode()[:LONGEST].decode(errors="ignore") + f"-{key}"
    return Task(cell, out / CELLS / name, key, len(trace))


class Bench:
    """Runs tasks one after the other; what it has read and loaded stays for the next one."""

    def __init__(self) -> None:
        self._sources = Sources()
        self._loaded: set[object] = set()

    def attempt(self, task: Task, loaded: Callable[[], None], tell: Tell) -> str | None:
        """Run a task; return why it failed, if it did. `loaded` is called once all kernels are there."""
        try:
            compile_s = self._load(task)
            loaded()
            self._run(task, tell, compile_s)
        except ConnectionError:  # nobody is there any more to be told
            raise
        except TenutoError as error:
            return str(error)
        except Exception as error:  # noqa: BLE001  a policy may be anybody's; the other cells go on
            return _told(error)
        return None

    def _load(self, task: Task) -> float:
        """Load or compile the kernels that a task needs; return the CPU seconds that took."""
        if task.kernels in self._loaded:
            return 0.0
        compile_s = load_kernels(self._sources.policy_of(task.cell), task.cell.terms)
        self._loaded.add(task.kernels)
        return compile_s

    def _run(self, task: Task, tell: Tell, compile_s: float) -> None:
        """Replay a cell whose kernels are loaded, and write its files; the manifest comes last."""
        cell, sources = task.cell, self._sources
        if sources.key(cell) != task.key:
            raise InputInvalid(
                "an input was changed while the experiment ran", remedy="Run the experiment again"
            )
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


def _told(error: Exception) -> str:
    """What went wrong where, in one line."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    said = f"{type(error).__name__}: {error}".replace("\n", " ")
    return f"{said} ({last.filename}, line {last.lineno})"
