"""What the workers of one job print, as it arrives, for one listener.

A listener holds an offset for each worker and reads the files where it has stopped; nothing is kept in memory for
one who reads slowly.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from starlette.concurrency import run_in_threadpool

from tenuto.server.recent import LOGS, frame
from tenuto.server.utf8 import whole_characters
from tenuto.store.logs import LogStore
from tenuto.wire.printed import LogPiece
from tenuto.wire.worker import WorkerId

PIECE = 64 << 10
"""Bytes of one worker that are sent at a time."""
MOST_AT_ONCE = 1 << 20


class LogFeed:
    """Reads on behind what was read before."""

    def __init__(self, logs: LogStore, job: str, woken: asyncio.Event) -> None:
        self._logs = logs
        self._job = job
        self._woken = woken
        self._next: dict[WorkerId, int] = {}
        self._news: set[WorkerId] = set()

    @classmethod
    @contextmanager
    def of(cls, logs: LogStore, job: str, woken: asyncio.Event) -> Iterator[LogFeed]:
        """A feed that is told of everything that comes, and sets `woken` then."""
        feed, loop = cls(logs, job, woken), asyncio.get_running_loop()

        def ring(worker: WorkerId) -> None:
            with contextlib.suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(feed._note, worker)

        end = logs.listen(job, ring)
        try:
            yield feed
        finally:
            end()

    def begin(self) -> None:
        """Begin with what comes from now on; workers that are not there yet are read from their first byte."""
        self._next = {worker: self._logs.extent(worker)[1] for worker in self._logs.workers(self._job)}

    def _note(self, worker: WorkerId) -> None:
        self._news.add(worker)
        self._woken.set()

    async def read(self) -> bytes:
        """What has come, as one piece; what is too much for it is read the next time."""
        if not self._news:
            return b""
        news, self._news = sorted(self._news), set()
        pieces, rest = await run_in_threadpool(self._read_all, news)
        for worker in rest:
            self._note(worker)
        return b"".join(pieces)

    def _read_all(self, news: Sequence[WorkerId]) -> tuple[list[bytes], list[WorkerId]]:
        """The next piece of each, and of whom there is more."""
        pieces: list[bytes] = []
        rest: list[WorkerId] = []
        for place, worker in enumerate(news):
            if sum(map(len, pieces)) >= MOST_AT_ONCE:
                return pieces, [*rest, *news[place:]]
            pieces.append(self._read(worker))
            if self._next.get(worker, 0) < self._logs.extent(worker)[1] and pieces[-1]:
                rest.append(worker)
        return pieces, rest

    def _read(self, worker: WorkerId) -> bytes:
        offset, data = self._logs.read(worker, self._next.get(worker, 0), PIECE)
        whole = whole_characters(data)
        if not whole:
            return b""
        self._next[worker] = offset + len(whole)
        piece = LogPiece(
            job=worker.job,
            worker=str(worker),
            role=worker.role,
            rank=worker.rank,
            generation=worker.generation,
            offset=offset,
            next=offset + len(whole),
            text=whole.decode("utf-8", "replace"),
        )
        return frame(LOGS, piece.model_dump_json())
