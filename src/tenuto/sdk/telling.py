"""What a worker tells, brought to disk by a thread of its own: training never waits for a disk or a device.

The training thread appends to a bounded queue and goes on. Numbers that still live on a device are fetched here.
"""

from __future__ import annotations

import itertools
import json
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

from tenuto.sdk.worker_log import WorkerLog
from tenuto.wire.spool import Spool

_MOST_WAITING = 10_000
"""Records in memory; beyond them the oldest is left out and counted."""
_LONGEST = 1 << 16
"""Bytes of a record; a longer one is left out and counted."""
_EVERY = 0.2
"""Seconds between two looks at what is waiting: the training thread wakes nobody."""
_CLOSE = 5.0
"""Seconds that the end of a program waits for a slow disk."""


class Teller:
    """Writes records in order, each with its number. Without a place to write to it counts, and no more."""

    def __init__(
        self, spool: Spool | None = None, log: WorkerLog | None = None, most_waiting: int = _MOST_WAITING
    ) -> None:
        self._spool = spool
        self._log = log
        self._waiting: deque[tuple[int, dict[str, Any]]] = deque(maxlen=most_waiting)
        self._numbers = itertools.count(1)
        self._taken = 0
        self._left_out = 0
        self._seq = spool.next_seq() if spool is not None else 0
        self._turns: list[Callable[[], None]] = []
        self._work = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="tenuto-telling", daemon=True)
        self._thread.start()

    def tell(self, kind: str, *, step: int, generation: int, **fields: Any) -> None:
        """Any thread may; never raises, never blocks."""
        record = {"kind": kind, "at": time.time(), "generation": generation, "step": step, **fields}
        self._waiting.append((next(self._numbers), record))

    def at_every_turn(self, act: Callable[[], None]) -> None:
        """Do this too, in the background, some times a second."""
        self._turns.append(act)

    def flush(self, timeout: float | None = None) -> bool:
        """Bring to disk what was told so far; False if it did not get there in time or found no room."""
        if not self._work.acquire(timeout=-1 if timeout is None else timeout):
            return False
        try:
            return self._turn()
        finally:
            self._work.release()

    def close(self) -> None:
        """Bring the rest to disk and end."""
        self._ended.set()
        self._thread.join(_CLOSE)
        self.flush(_CLOSE)

    def _run(self) -> None:
        while not self._ended.wait(_EVERY):
            self.flush()

    def _turn(self) -> bool:
        for act in self._turns:
            act()
        if self._spool is not None and not self._spool.settle():
            return False
        while self._waiting:
            number, record = self._waiting.popleft()
            if not self._write(record):
                self._put_back(number, record)
                return False
            self._taken += 1
            self._left_out = max(self._left_out, number - self._taken)
        return True

    def _write(self, record: Mapping[str, Any]) -> bool:
        """One record; its number is given only now, so that there is no gap where one was left out in memory."""
        dropped = self._left_out + (self._spool.lost if self._spool is not None else 0)
        whole = {"seq": self._seq, **plain(record), **({"dropped": dropped} if dropped else {})}
        line = json.dumps(whole, ensure_ascii=False, separators=(",", ":")).encode(errors="replace") + b"\n"
        if len(line) > _LONGEST:
            self._left_out += 1
            return True
        if self._spool is not None and not self._spool.write(line):
            return False
        if self._log is not None:
            self._log.write(line, whole)
        self._seq += 1
        return True

    def _put_back(self, number: int, record: dict[str, Any]) -> None:
        """Try again at the next turn, unless newer ones have taken all the room meanwhile."""
        if len(self._waiting) < (self._waiting.maxlen or 0):
            self._waiting.appendleft((number, record))


def plain(value: Any) -> Any:
    """As JSON has it. A tensor of one element becomes its number; what is no number becomes the name of its type."""
    if isinstance(value, Mapping):
        return {str(name): plain(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(part) for part in value]
    if value is None or isinstance(value, (bool, int, str)):
        return value
    return _number(value)


def _number(value: Any) -> float | str:
    try:
        return float(value.item() if hasattr(value, "item") else value)
    except Exception:  # noqa: BLE001 - whatever a foreign object raises, the others are told
        return type(value).__name__
