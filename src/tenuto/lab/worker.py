"""A process that runs cells: it is sent tasks through a pipe and tells through it how they go."""

from __future__ import annotations

from dataclasses import dataclass
from multiprocessing import parent_process
from multiprocessing.connection import Connection

from tenuto.lab.parent import end_with
from tenuto.lab.task import Bench


@dataclass(frozen=True, slots=True)
class Loaded:
    """The kernels that the task needs are loaded; if they had to be compiled, they are on disk now."""


@dataclass(frozen=True, slots=True)
class Progressed:
    """So many of all jobs of the task are done."""

    done: int
    jobs: int


@dataclass(frozen=True, slots=True)
class Ended:
    """The task is done, or failed for a reason."""

    reason: str | None


News = Loaded | Progressed | Ended


def work(pipe: Connection) -> None:
    """Run every task that comes, until None comes or the other side is gone."""
    parent = parent_process()
    assert parent is not None and parent.pid is not None
    end_with(parent.pid)
    bench = Bench()

    def tell_loaded() -> None:
        pipe.send(Loaded())

    def tell(done: int, jobs: int) -> None:
        pipe.send(Progressed(done, jobs))

    try:
        while (task := pipe.recv()) is not None:
            pipe.send(Ended(bench.attempt(task, tell_loaded, tell)))
    except (EOFError, ConnectionError):
        return
