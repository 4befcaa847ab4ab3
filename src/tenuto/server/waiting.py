"""Waiting for a job without holding a thread: the store's bell, brought into the event loop.

However many clients wait, a commit costs one look at what is new, and only those are woken whose job changed.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from starlette.concurrency import run_in_threadpool

from tenuto.errors import TenutoError
from tenuto.store.base import Store, Tx


class JobBell:
    """Wakes those who wait for a job. Used from one event loop; bound to it at the first wait."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiting: dict[str, set[asyncio.Event]] = {}
        self._loop: asyncio.AbstractEventLoop | None = None
        self._end_listening: Callable[[], None] = lambda: None
        self._looking: asyncio.Task[None] | None = None
        self._look_again = False
        self._seen = 0
        self._closed = False

    @property
    def closed(self) -> bool:
        """Whether nobody shall wait any more."""
        return self._closed

    @contextmanager
    def watch(self, job: str) -> Iterator[asyncio.Event]:
        """An event that is set at every change of a job (and sometimes without one)."""
        self._bind(asyncio.get_running_loop())
        changed = asyncio.Event()
        self._waiting.setdefault(job, set()).add(changed)
        if self._closed:
            changed.set()
        try:
            yield changed
        finally:
            self._waiting[job].discard(changed)
            if not self._waiting[job]:
                del self._waiting[job]

    def close(self) -> None:
        """Let everybody go home, from any thread: the server is about to end."""
        self._closed = True
        self._end_listening()
        if self._loop is not None:
            with contextlib.suppress(RuntimeError):  # the loop has ended already, and all waiting with it
                self._loop.call_soon_threadsafe(self._wake_all)

    def _bind(self, loop: asyncio.AbstractEventLoop) -> None:
        if loop is self._loop:
            return
        self._end_listening()
        self._loop, self._waiting, self._looking = loop, {}, None
        self._seen = self._store.revision()

        def ring(revision: int) -> None:
            with contextlib.suppress(RuntimeError):  # as above
                loop.call_soon_threadsafe(self._rung, revision)

        self._end_listening = self._store.listen(ring)

    def _rung(self, revision: int) -> None:
        if self._looking is not None and not self._looking.done():
            self._look_again = True
        elif self._waiting:
            self._looking = asyncio.ensure_future(self._look())
        else:
            self._seen = max(self._seen, revision)

    async def _look(self) -> None:
        self._look_again = True
        while self._look_again:
            self._look_again = False
            try:
                self._seen, changed = await run_in_threadpool(self._store.read, partial(_news, self._seen))
            except TenutoError:  # whoever waits shall find out by himself what is the matter
                return self._wake_all()
            for job in changed:
                for event in self._waiting.get(job, ()):
                    event.set()
        return None

    def _wake_all(self) -> None:
        for events in self._waiting.values():
            for event in events:
                event.set()


def _news(seen: int, tx: Tx) -> tuple[int, list[str]]:
    return tx.revision, [job.id for job in tx.jobs_since(seen)] + tx.removed_since(seen)
