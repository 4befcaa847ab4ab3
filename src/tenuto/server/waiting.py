"""Waiting for jobs and for events without holding a thread: the store's bell, brought into the event loop.

However many clients wait, a commit costs one look at what is new. Those who wait for a job are woken when it
changed; those who listen to events share the newest ones (`server.recent`), each with its own place in them.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from starlette.concurrency import run_in_threadpool

from tenuto.errors import TenutoError
from tenuto.server.recent import KEPT, Recent, Told, last_id, told
from tenuto.store.base import EventQuery, Store, Tx


@dataclass(frozen=True, slots=True)
class _News:
    """What was written since somebody looked."""

    revision: int
    jobs: list[str]
    """Their ids; also of those that were removed."""
    events: list[Told]
    """The newest of them, if they are many."""


class CommitBell:
    """Wakes those who wait. Used from one event loop; bound to it at the first wait."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._waiting: dict[str, set[asyncio.Event]] = {}
        self._listening: set[asyncio.Event] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._end_listening: Callable[[], None] = lambda: None
        self._looking: asyncio.Task[None] | None = None
        self._look_again = False
        self._seen = 0
        self._closed = False
        self.recent: Recent | None = None
        """The newest events; none while nobody listens."""

    @property
    def closed(self) -> bool:
        """Whether nobody shall wait any more."""
        return self._closed

    @property
    def listeners(self) -> int:
        """How many hear events."""
        return len(self._listening)

    @contextmanager
    def watch(self, job: str) -> Iterator[asyncio.Event]:
        """An event that is set at every change of a job (and sometimes without one)."""
        self._bind(asyncio.get_running_loop())
        with self._among(self._waiting.setdefault(job, set())) as changed:
            try:
                yield changed
            finally:
                if self._waiting.get(job) == {changed}:
                    del self._waiting[job]

    @contextmanager
    def listen(self) -> Iterator[asyncio.Event]:
        """An event that is set whenever `recent` holds something new (and sometimes without it)."""
        self._bind(asyncio.get_running_loop())
        with self._among(self._listening) as woken:
            try:
                yield woken
            finally:
                if self._listening == {woken}:
                    self.recent = None

    async def begin_recent(self) -> Recent:
        """What `recent` is from now on, if nobody has listened before."""
        if self.recent is None:
            upto = await run_in_threadpool(self._store.read, last_id)
            self.recent = self.recent or Recent(upto)
        return self.recent

    @contextmanager
    def _among(self, those: set[asyncio.Event]) -> Iterator[asyncio.Event]:
        woken = asyncio.Event()
        those.add(woken)
        if self._closed:
            woken.set()
        try:
            yield woken
        finally:
            those.discard(woken)

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
        self._loop, self._waiting, self._listening, self._looking = loop, {}, set(), None
        self._seen = self._store.revision()

        def ring(revision: int) -> None:
            with contextlib.suppress(RuntimeError):  # as above
                loop.call_soon_threadsafe(self._rung, revision)

        self._end_listening = self._store.listen(ring)

    def _rung(self, revision: int) -> None:
        if self._looking is not None and not self._looking.done():
            self._look_again = True
        elif self._waiting or self._listening:
            self._looking = asyncio.ensure_future(self._look())
        else:
            self._seen = max(self._seen, revision)

    async def _look(self) -> None:
        self._look_again = True
        while self._look_again:
            self._look_again = False
            upto = None if self.recent is None else self.recent.upto
            try:
                news = await run_in_threadpool(self._store.read, partial(_news, self._seen, upto))
            except TenutoError:  # whoever waits shall find out by himself what is the matter
                return self._wake_all()
            self._seen = news.revision
            if self.recent is not None and news.events:
                self.recent.add(news.events)
            self._wake(news)
        return None

    def _wake(self, news: _News) -> None:
        for job in news.jobs:
            for event in self._waiting.get(job, ()):
                event.set()
        if news.events:
            for event in self._listening:
                event.set()

    def _wake_all(self) -> None:
        for events in (*self._waiting.values(), self._listening):
            for event in events:
                event.set()


def _news(seen: int, upto: int | None, tx: Tx) -> _News:
    """What is new, events only if somebody listens to them."""
    jobs = [job.id for job in tx.jobs_since(seen)] + tx.removed_since(seen)
    events = [] if upto is None else tx.events(EventQuery(after=upto, limit=KEPT, last=True))
    return _News(tx.revision, jobs, [told(event) for event in events])
