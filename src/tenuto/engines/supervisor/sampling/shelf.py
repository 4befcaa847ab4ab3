"""Samples that the server may not have for good yet, as they were told: bounded, oldest first. Knows no server."""

from __future__ import annotations

import threading
from collections import deque
from dataclasses import dataclass, replace
from itertools import islice

from tenuto.wire.sample import Gap

MOST = 3600
MOST_BYTES = 32 << 20
"""An hour at one sample a second; ten minutes on a node with so many GPUs and processes that one sample has 50 kB."""
BATCH_BYTES = 1 << 20
"""Bytes of one upload, unless a single sample has more."""
AWAY = "the server was away"


@dataclass(frozen=True, slots=True)
class Kept:
    """One sample, and the gap that it ends."""

    at: float
    line: bytes
    gap: Gap | None = None


@dataclass(frozen=True, slots=True)
class Batch:
    """Samples that follow upon each other."""

    samples: tuple[Kept, ...]
    end: int
    """The number behind the last one's."""

    @property
    def gaps(self) -> tuple[Gap, ...]:
        """The gaps between them."""
        return tuple(sample.gap for sample in self.samples if sample.gap is not None)


class Shelf:
    """Samples are numbered as they come. Safe to use from one thread that adds and one that brings them over."""

    def __init__(self, most: int = MOST, most_bytes: int = MOST_BYTES) -> None:
        self._most = most
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._samples: deque[Kept] = deque()
        self._bytes = 0
        self._first = 0
        """The number of the oldest that is here."""
        self._next = 0
        """The number of the next one to send: the present server was sent all those before it."""
        self._gone: float | None = None
        """The moment of the last one that was here."""
        self._owed: Gap | None = None
        """The gap that the next one ends; nobody knows yet when."""

    def __len__(self) -> int:
        return len(self._samples)

    def add(self, sample: Kept) -> None:
        """Have a new one; the oldest go if there is no room."""
        with self._lock:
            if self._owed is not None:
                sample, self._owed = replace(sample, gap=replace(self._owed, until=sample.at)), None
            self._samples.append(sample)
            self._bytes += len(sample.line)
            while len(self._samples) > 1 and (
                len(self._samples) > self._most or self._bytes > self._most_bytes
            ):
                self._drop()

    def batch(self, most_bytes: int = BATCH_BYTES) -> Batch | None:
        """The next to send; None if the server was sent everything."""
        with self._lock:
            begin = max(self._next, self._first)
            chosen: list[Kept] = []
            size = 0
            for sample in islice(self._samples, begin - self._first, None):
                size += len(sample.line)
                if chosen and size > most_bytes:
                    break
                chosen.append(sample)
            return Batch(tuple(chosen), begin + len(chosen)) if chosen else None

    def sent(self, batch: Batch, kept: float | None) -> None:
        """The server has these, and everything that it was sent up to the moment `kept` for good."""
        with self._lock:
            self._next = max(self._next, batch.end)
            while kept is not None and self._first < self._next and self._samples[0].at <= kept:
                self._take_first()

    def send_again(self) -> None:
        """The server is another one, and may know nothing of what is here."""
        with self._lock:
            self._next = self._first

    def pass_over(self, batch: Batch, why: str) -> None:
        """The server does not want these: they count as never seen."""
        with self._lock:
            while self._samples and self._first < batch.end:
                self._drop(why)
            self._next = max(self._next, self._first)

    def _take_first(self) -> Kept:
        first = self._samples.popleft()
        self._first += 1
        self._bytes -= len(first.line)
        self._gone = first.at
        return first

    def _drop(self, why: str = AWAY) -> None:
        """Let go of the oldest; the one behind it tells of the gap, unless the server has what went."""
        since, has_it = self._gone, self._first < self._next
        first = self._take_first()
        if has_it:
            return
        if first.gap is not None:
            since = first.gap.since
        gap = Gap(since=first.at if since is None else since, until=first.at, why=why)
        if self._samples:
            behind = self._samples[0]
            self._samples[0] = replace(behind, gap=replace(gap, until=behind.at))
        else:
            self._owed = gap
