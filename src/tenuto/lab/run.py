"""Running the cells of an experiment: all inputs checked first, what is finished left alone."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from tenuto.errors import CellsFailed, InputInvalid, Place
from tenuto.lab.cell import Cell
from tenuto.lab.interrupts import interrupts_held
from tenuto.lab.pool import Pool, Watch
from tenuto.lab.progress import Bar, effort
from tenuto.lab.results import Result, load_result
from tenuto.lab.sources import Sources
from tenuto.lab.task import Bench, Task, task_of
from tenuto.lab.worker import Ended, Loaded, News, Progressed
from tenuto.sim.result_files import MANIFEST


@dataclass(frozen=True)
class Prepared:
    """The cells of an experiment, found and checked."""

    tasks: tuple[Task, ...]
    """In the order of the cells; cells that come to the same stand here once."""
    refused: Mapping[str, str]
    """Why a cell cannot be run, by its name."""

    def unfinished(self) -> list[Task]:
        """What is still to be run, the longest first, so that no process is left with it in the end."""
        todo = [task for task in self.tasks if load_result(task.folder) is None]
        return sorted(todo, key=effort, reverse=True)

    def forget(self) -> None:
        """Let everything count as unfinished."""
        for task in self.tasks:
            (task.folder / MANIFEST).unlink(missing_ok=True)


class Onlooker(Protocol):
    """Somebody who wants to know how it goes."""

    def begin(self, prepared: Prepared, todo: Sequence[Task]) -> None:
        """Those of the prepared tasks that are not finished are about to be run."""
        ...

    def watch(self, task: Task, news: News) -> None:
        """Something happened to a task."""
        ...


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
    cells: Sequence[Cell],
    out: Path,
    *,
    processes: int | None = None,
    show_progress: bool = True,
    onlooker: Onlooker | None = None,
) -> list[Result]:
    """Run what is not finished yet; return all results, in the order of the cells, each once.

    A cell that fails does not keep the others from being run; in the end CellsFailed tells of it. Without
    a number of processes there are as many as cores; one process is this one.
    """
    prepared = prepare(cells, out)
    with alone_in(out):
        return run_prepared(prepared, processes=processes, show_progress=show_progress, onlooker=onlooker)


def run_prepared(
    prepared: Prepared,
    *,
    processes: int | None = None,
    show_progress: bool = True,
    again: bool = False,
    onlooker: Onlooker | None = None,
) -> list[Result]:
    """Run those of the prepared tasks that are not finished yet, or all of them again.

    An onlooker is told what is to be run, and then of everything that happens to it. The caller sees to it that
    nobody else writes there meanwhile (`alone_in`).
    """
    failed = dict(prepared.refused)
    if again:
        prepared.forget()
    todo = prepared.unfinished()
    if onlooker is not None:
        onlooker.begin(prepared, todo)
    with Bar(todo, visible=show_progress and bool(todo)) as bar:

        def watch(task: Task, news: News) -> None:
            bar.watch(task, news)
            if onlooker is not None:
                onlooker.watch(task, news)
            if isinstance(news, Ended) and news.reason is not None:
                failed[str(task.cell)] = news.reason

        wanted = min(processes or len(os.sched_getaffinity(0)), len(todo))
        if wanted > 1:
            Pool(todo, wanted, watch).run()
        else:
            bench = Bench()
            for task in todo:
                _run_here(bench, task, watch)
    if failed:
        raise CellsFailed(failed, len(prepared.tasks) + len(prepared.refused))
    return [result for task in prepared.tasks if (result := load_result(task.folder)) is not None]


def _run_here(bench: Bench, task: Task, watch: Watch) -> None:
    """Run a task in this process."""
    with interrupts_held() as let_through:

        def loaded() -> None:
            watch(task, Loaded())
            let_through()

        def tell(done: int, jobs: int) -> None:
            watch(task, Progressed(done, jobs))
            let_through()

        watch(task, Ended(bench.attempt(task, loaded, tell)))


@contextmanager
def alone_in(out: Path) -> Iterator[None]:
    """Keep a second laboratory out of the directory; the lock ends with the process, however that ends."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        lock = (out / ".lock").open("w")
    except OSError as error:
        raise InputInvalid(
            f"nothing can be written here ({error.strerror})",
            remedy="Choose a directory in which you may write",
            place=Place(str(out)),
        ) from None
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputInvalid(
                "another laboratory is at work here",
                remedy="Wait until it has ended, or choose another directory",
                place=Place(str(out)),
            ) from None
        yield
