"""How far an experiment has come, and how long it will still take."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from tenuto.lab.task import Task
from tenuto.lab.worker import Ended, Loaded, News, Progressed

# How long a job takes in a replay, relative to the quickest policies; orders of magnitude are enough.
_OURS = {"elasticflow": 2.0, "gandiva": 8.0, "themis": 10.0, "chronus": 12.0, "chronus-greedy": 10.0}
_REFERENCE = {"elasticflow": 2.0, "themis": 10.0, "chronus": 5.0, "pollux": 200.0}


def effort(task: Task) -> float:
    """Roughly how long a task will take."""
    weights = _OURS if task.cell.compat is None else _REFERENCE
    return task.jobs * weights.get(task.cell.policy, 1.0)


class Tally:
    """How much of some tasks is done."""

    def __init__(self, tasks: Sequence[Task]) -> None:
        self.cells = len(tasks)
        self.ended = 0
        self.all = sum(map(effort, tasks))
        self._done: dict[str, float] = {}

    @property
    def done(self) -> float:
        """So much of all."""
        return sum(self._done.values())

    def note(self, task: Task, news: News) -> None:
        """Something happened to a task."""
        match news:
            case Loaded():
                pass
            case Progressed(done, jobs):
                self._done[task.key] = effort(task) * done / jobs
            case Ended():
                self._done[task.key] = effort(task)
                self.ended += 1


class Bar:
    """A line on standard error that moves as the cells do."""

    def __init__(self, tasks: Sequence[Task], *, visible: bool) -> None:
        columns = (
            TextColumn("{task.fields[ended]} of {task.fields[cells]} cells"),
            BarColumn(),
            TimeRemainingColumn(),
            TextColumn("{task.description}"),
        )
        console = Console(stderr=True)
        shown = visible and console.is_terminal
        self._bar = Progress(*columns, console=console, transient=True, disable=not shown)
        self._tally = Tally(tasks)
        self._line = self._bar.add_task("", total=self._tally.all, ended=0, cells=self._tally.cells)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        self._bar.stop()

    def watch(self, task: Task, news: News) -> None:
        """Move on by what happened to a task."""
        tally = self._tally
        tally.note(task, news)
        self._bar.update(self._line, description=str(task.cell), completed=tally.done, ended=tally.ended)
