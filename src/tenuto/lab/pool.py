"""Processes that share the cells of an experiment; one that dies takes only its cell with it.

The pool of the standard library gives up when one of its processes is killed, which is what happens to a
replay that needs too much memory. So this one is our own: a pipe to each process, and no other state.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import get_context, resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess

from tenuto.lab.task import Task
from tenuto.lab.worker import Ended, Loaded, News, work

Watch = Callable[[Task, News], None]
"""Told of everything that happens to a task."""


@dataclass
class Worker:
    """One process and what it does."""

    process: SpawnProcess
    pipe: Connection
    task: Task | None = None
    loading: bool = False
    """Whether it loads kernels that nobody has loaded before."""


class Pool:
    """Hands tasks to processes, in the order in which they are given."""

    def __init__(self, tasks: Sequence[Task], processes: int, watch: Watch) -> None:
        self._waiting = list(tasks)
        self._processes = processes
        self._watch = watch
        self._workers: list[Worker] = []
        self._loaded: set[object] = set()

    def run(self) -> None:
        """Run all tasks. Whatever ends this, no process outlives it."""
        try:
            while self._waiting or any(worker.task for worker in self._workers):
                self._hand_out()
                self._listen()
            for worker in self._workers:
                with suppress(ConnectionError):  # it may have died idle
                    worker.pipe.send(None)
        except BaseException:
            for worker in self._workers:
                worker.process.terminate()
            raise
        finally:
            for worker in self._workers:
                worker.pipe.close()
                worker.process.join()

    def _hand_out(self) -> None:
        """Give every idle process the first task that it may begin."""
        under_way = sum(worker.task is not None for worker in self._workers)
        wanted = min(self._processes, under_way + len(self._waiting))
        while len(self._workers) < wanted:
            self._workers.append(_started())
        for worker in self._workers:
            if worker.task is None and (task := self._next()) is not None:
                worker.task, worker.loading = task, task.kernels not in self._loaded
                with suppress(ConnectionError):  # if it died idle, listening to it will tell
                    worker.pipe.send(task)

    def _next(self) -> Task | None:
        """The first task that waits. Only one process at a time may load kernels that are new to all.

        They may have to be compiled, which takes a minute; two processes would compile the same ones.
        """
        loading = any(worker.loading for worker in self._workers)
        for task in self._waiting:
            if not loading or task.kernels in self._loaded:
                self._waiting.remove(task)
                return task
        return None

    def _listen(self) -> None:
        by_pipe = {worker.pipe: worker for worker in self._workers}
        for pipe in wait(list(by_pipe)):
            assert isinstance(pipe, Connection)
            worker = by_pipe[pipe]
            try:
                news: News = pipe.recv()
            except (EOFError, ConnectionError):
                self._bury(worker)
            else:
                self._hear(worker, news)

    def _hear(self, worker: Worker, news: News) -> None:
        task = worker.task
        assert task is not None
        match news:
            case Loaded():
                self._loaded.add(task.kernels)
                worker.loading = False
            case Ended():
                worker.task, worker.loading = None, False
        self._watch(task, news)

    def _bury(self, worker: Worker) -> None:
        """Take a dead process out; its task failed."""
        self._workers.remove(worker)
        worker.process.join()
        worker.pipe.close()
        if worker.task is not None:
            self._watch(worker.task, Ended(_cause_of_death(worker.process.exitcode)))


def _started() -> Worker:
    ours, theirs = get_context("spawn").Pipe()
    process = get_context("spawn").Process(target=work, args=(theirs,), daemon=True)
    with _interrupts_kept_from_children():
        process.start()
    theirs.close()
    return Worker(process, ours)


@contextmanager
def _interrupts_kept_from_children() -> Iterator[None]:
    """Let a Ctrl-C, which a terminal sends to all processes, reach only this one, which ends the others.

    What is blocked stays blocked in a process that is started meanwhile. The tracker that Python starts
    along with the first process would unblock it, so it is started before.
    """
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _cause_of_death(code: int | None) -> str:
    if code is not None and code < 0:
        name = signal.Signals(-code).name
        hint = "; was there too little memory?" if name == "SIGKILL" else ""
        return f"its process was killed by {name}{hint}"
    return f"its process ended with code {code}"
