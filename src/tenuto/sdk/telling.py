"""What a worker tells its supervisor, brought to disk by a thread of its own: training never waits for it."""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

_MOST_WAITING = 10_000
"""Records in memory; beyond them the oldest is left out and counted."""
_EVERY = 0.2
"""Seconds between two looks at what is waiting: the training thread wakes nobody."""


class Teller:
    """Hands lines of JSON to a sink, in order."""

    def __init__(self, sink: Callable[[bytes], None] | None = None) -> None:
        self._sink = sink
        self._waiting: deque[dict[str, Any]] = deque(maxlen=_MOST_WAITING)
        self._told = 0
        self._seq = 0
        self._work = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="tenuto-telling", daemon=True)
        self._thread.start()

    def tell(self, kind: str, *, step: int, generation: int, **fields: Any) -> None:
        """Any thread may; never raises, never blocks."""
        self._waiting.append({"kind": kind, "at": time.time(), "generation": generation, "step": step, **fields})

    def flush(self, timeout: float | None = None) -> bool:
        """Wait until all that was told is on disk."""
        if not self._work.acquire(timeout=-1 if timeout is None else timeout):
            return False
        try:
            self._drain()
        finally:
            self._work.release()
        return True

    def close(self) -> None:
        """Bring the rest to disk and end."""
        self._ended.set()
        self._thread.join()
        self.flush()

    def _run(self) -> None:
        while not self._ended.wait(_EVERY):
            self.flush()

    def _drain(self) -> None:
        while self._waiting:
            record = {"seq": self._seq, **self._waiting.popleft()}
            self._seq += 1
            if self._sink is not None:
                with contextlib.suppress(Exception):
                    self._sink(json.dumps(record, default=_plain).encode() + b"\n")


def _plain(value: Any) -> Any:
    """A number of a tensor or of another library."""
    return value.item() if hasattr(value, "item") else str(value)
