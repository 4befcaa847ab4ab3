"""Asks for GPUs in a thread of its own: a driver that hangs keeps nothing else from being told."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import replace
from queue import Empty, SimpleQueue

from tenuto.monitor.gpus import GpuView
from tenuto.wire.sample import GpuSample

PATIENCE = 2.0
"""Seconds for which a sample is kept back because a driver has not answered yet."""


class InTime:
    """What `look` tells, if it does in time; else that it does not. It is asked again when it has answered."""

    def __init__(self, look: Callable[[float], GpuView], patience: float = PATIENCE) -> None:
        self._look = look
        self._patience = patience
        self._questions: SimpleQueue[float] = SimpleQueue()
        self._answers: SimpleQueue[GpuView] = SimpleQueue()
        self._asked_at: float | None = None
        """When it was asked what it has not answered yet."""
        self._last = GpuView()
        threading.Thread(target=self._answer, daemon=True, name="gpus").start()

    def look(self, now: float) -> GpuView:
        """`now` is of a clock that nobody sets."""
        patience = 0.0
        if self._asked_at is None:
            self._asked_at, patience = now, self._patience
            self._questions.put(now)
        try:
            self._last = self._answers.get(timeout=patience)
        except Empty:
            seconds = max(now - self._asked_at, self._patience)
            return _unknown(self._last, f"the driver of the GPUs has not answered for {seconds:.0f} s")
        self._asked_at = None
        return self._last

    def _answer(self) -> None:
        while True:
            now = self._questions.get()
            try:
                self._answers.put(self._look(now))
            except Exception as error:  # noqa: BLE001 - of whatever it dies, the rest of the sample is worth having
                self._answers.put(_unknown(self._last, f"the GPUs cannot be read: {error!r}"))


def _unknown(last: GpuView, problem: str) -> GpuView:
    """Who is there, and nothing about what they are doing."""
    gpus = tuple(GpuSample(index=gpu.index, uuid=gpu.uuid, name=gpu.name, lost=gpu.lost) for gpu in last.gpus)
    return replace(last, gpus=gpus, problem=problem)
