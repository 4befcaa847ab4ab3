"""Lines that wait for the database: in batches, packed, and never more than agreed, whatever becomes of it."""

from __future__ import annotations

import gzip
import threading
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

BATCH_LINES = 5_000
BATCH_BYTES = 1 << 20
_FAST = 1
"""Lines shrink to a tenth at the least effort, and hardly more at the greatest."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Some lines, packed."""

    body: bytes
    """With gzip, as it is posted."""
    lines: int

    @classmethod
    def of(cls, lines: Sequence[str]) -> Batch:
        """These lines."""
        text = "\n".join(lines).encode("utf-8", errors="replace")
        return cls(gzip.compress(text, _FAST, mtime=0), len(lines))

    def halves(self) -> tuple[Batch, Batch]:
        """The same lines in two batches; there must be two."""
        lines = gzip.decompress(self.body).decode().split("\n")
        middle = len(lines) // 2
        return Batch.of(lines[:middle]), Batch.of(lines[middle:])


class Buffer:
    """Safe to use from any thread. When it is full, the oldest lines go."""

    def __init__(self, most: int) -> None:
        """`most`: bytes that it may hold."""
        self._most = most
        self._lock = threading.Lock()
        self._open: list[str] = []
        self._open_bytes = 0
        self._packed: deque[Batch] = deque()
        self._packed_bytes = 0
        self._dropped = 0

    def add(self, lines: Iterable[str]) -> None:
        """Take lines in."""
        with self._lock:
            for line in lines:
                self._open.append(line)
                self._open_bytes += len(line) + 1
                if len(self._open) >= BATCH_LINES or self._open_bytes >= BATCH_BYTES:
                    self._pack()
            self._shrink()

    def take(self) -> Batch | None:
        """The oldest batch; whoever takes it has it, or puts it back."""
        with self._lock:
            if not self._packed:
                self._pack()
            if not self._packed:
                return None
            batch = self._packed.popleft()
            self._packed_bytes -= len(batch.body)
            return batch

    def put_back(self, *batches: Batch) -> None:
        """These were not taken by the database; they are the oldest."""
        with self._lock:
            self._packed.extendleft(reversed(batches))
            self._packed_bytes += sum(len(batch.body) for batch in batches)
            self._shrink()

    @property
    def held(self) -> int:
        """Bytes that wait."""
        with self._lock:
            return self._packed_bytes + self._open_bytes

    @property
    def lines(self) -> int:
        """Lines that wait."""
        with self._lock:
            return sum(batch.lines for batch in self._packed) + len(self._open)

    @property
    def dropped(self) -> int:
        """Lines that went because there was no room for them."""
        with self._lock:
            return self._dropped

    def _pack(self) -> None:
        if self._open:
            batch = Batch.of(self._open)
            self._packed.append(batch)
            self._packed_bytes += len(batch.body)
            self._open, self._open_bytes = [], 0

    def _shrink(self) -> None:
        while self._packed_bytes + self._open_bytes > self._most:
            if self._packed:
                batch = self._packed.popleft()
                self._packed_bytes -= len(batch.body)
                self._dropped += batch.lines
            else:
                self._pack()
