"""Checkpoints in the background: one at a time, the newest waits, and what goes wrong is told, not raised."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tenuto.sdk.checkpoints import Checkpoints, Writer, size_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Saved:
    """How a checkpoint went."""

    step: int
    path: Path | None = None
    """None if it could not be written."""
    size: int = 0
    seconds: float = 0.0
    problem: str = ""


@dataclass(frozen=True, slots=True)
class _Task:
    step: int
    writer: Writer
    done: Callable[[Saved], None] | None


class Saver:
    """A thread lives only while there is something to write."""

    def __init__(self, checkpoints: Checkpoints) -> None:
        self.checkpoints = checkpoints
        self._changed = threading.Condition()
        self._waiting: _Task | None = None
        self._busy = False
        self._said = ""

    def start(self, step: int, writer: Writer, done: Callable[[Saved], None] | None = None) -> None:
        """Write this one soon; one that still waits is left out for it."""
        with self._changed:
            self._waiting = _Task(step, writer, done)
            if not self._busy:
                self._busy = True
                threading.Thread(target=self._work, name="tenuto-checkpoint", daemon=True).start()

    def wait(self, timeout: float | None = None) -> bool:
        """Until nothing is being written."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._busy, timeout)

    def save(self, step: int, writer: Writer) -> Saved:
        """Write this one now, after what is under way; never raises."""
        self.wait()
        return self._save(_Task(step, writer, None))

    def _work(self) -> None:
        while True:
            with self._changed:
                task, self._waiting = self._waiting, None
                if task is None:
                    self._busy = False
                    self._changed.notify_all()
                    return
            saved = self._save(task)
            if task.done is not None:
                task.done(saved)
            del task, saved  # a copy of the model hangs on it

    def _save(self, task: _Task) -> Saved:
        began = time.monotonic()
        try:
            path = self.checkpoints.write(task.step, task.writer)
            size = size_of(path)
        except Exception as error:  # noqa: BLE001 - whatever a disk or a writer does, training goes on
            self._say(_sentence(error), task.step)
            return Saved(step=task.step, problem=f"checkpoint of step {task.step}: {_sentence(error)}")
        self._said = ""
        return Saved(step=task.step, path=path, size=size, seconds=time.monotonic() - began)

    def _say(self, problem: str, step: int) -> None:
        """Where a script runs alone nobody reads records. Once is enough while nothing changes."""
        if problem == self._said:
            return
        self._said = problem
        place = self.checkpoints.directory
        with contextlib.suppress(OSError, ValueError):  # a closed terminal
            sys.stderr.write(f"tenuto: the checkpoint of step {step} was not written to {place}: {problem}\n")


def _sentence(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return f"{type(error).__name__}: {error}"
