"""Running the cells of an experiment: all inputs checked first, what is finished left alone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tenuto.errors import CellsFailed, InputInvalid
from tenuto.lab.cell import Cell
from tenuto.lab.interrupts import interrupts_held
from tenuto.lab.results import Result, load_result
from tenuto.lab.sources import Sources
from tenuto.lab.task import Bench, Task, task_of


@dataclass(frozen=True)
class Prepared:
    """The cells of an experiment, found and checked."""

    tasks: tuple[Task, ...]
    """In the order of the cells; cells that come to the same stand here once."""
    refused: Mapping[str, str]
    """Why a cell cannot be run, by its name."""

    def unfinished(self) -> list[Task]:
        """What is still to be run."""
        return [task for task in self.tasks if load_result(task.folder) is None]


def prepare(cells: Sequence[Cell], out: Path) -> Prepared:
    """Read and check every input, before anything is run or written."""
    sources = Sources()
    for cell in cells:
        sources.check(cell)
    tasks: dict[str, Task] = {}
    refused = {}
    for cell in cells:
        try:
            sources.check_together(cell)
        except InputInvalid as error:
            refused[str(cell)] = str(error)
        else:
            task = task_of(cell, out, sources)
            tasks.setdefault(task.key, task)
    return Prepared(tuple(tasks.values()), refused)


def run_cells(
    cells: Sequence[Cell], out: Path, *, processes: int | None = None, show_progress: bool = True
) -> list[Result]:
    """Run what is not finished yet; return all results in the order of the cells.

    A cell that fails does not keep the others from being run; in the end CellsFailed tells of it.
    """
    prepared = prepare(cells, out)
    failed = {**prepared.refused, **_run_here(prepared.unfinished())}
    results = [result for task in prepared.tasks if (result := load_result(task.folder)) is not None]
    if failed:
        raise CellsFailed(failed, len(cells))
    return results


def _run_here(tasks: Sequence[Task]) -> dict[str, str]:
    """Run tasks one after the other in this process; return why some failed."""
    bench = Bench()
    for task in tasks:
        with interrupts_held() as let_through:
            bench.load(task)
            let_through()
            bench.run(task, lambda _done, _jobs: let_through())
    return {}
