"""A process that runs cells: it is sent tasks through a pipe and tells through it how they go."""

from __future__ import annotations

import ctypes
import os
import signal
from dataclasses import dataclass
from multiprocessing import parent_process
from multiprocessing.connection import Connection

from tenuto.lab.task import Bench

# From <sys/prctl.h>: which signal a process gets when its parent ends.
_PR_SET_PDEATHSIG = 1


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
    _end_with_parent()
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


def _end_with_parent() -> None:
    """Be killed when the parent is: a kernel may run for long without looking at the pipe."""
    parent = parent_process()
    assert parent is not None
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent.pid:  # it ended before we asked
        os.kill(os.getpid(), signal.SIGKILL)
