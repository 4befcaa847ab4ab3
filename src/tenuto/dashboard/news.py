"""What has happened, told to every open page at once: one look at the store for all of them, however many they are."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import suppress

from tenuto.model.event import Event
from tenuto.server.platform import Platform
from tenuto.store.base import StoreUnavailable
from tenuto.wire.sample import NodeSample
from tenuto.wire.worker import WorkerId

BREATH = 0.1
"""Seconds in which news are gathered before they are told, so that a burst is one piece of news."""

Ear = Callable[[Sequence[Event]], None]
SampleEar = Callable[[str], None]
LogEar = Callable[[WorkerId], None]


class News:
    """Belongs to the server's loop."""

    def __init__(self, here: Platform) -> None:
        self._here = here
        self._ears: dict[Ear, None] = {}
        """In the order in which they came."""
        self._sample_ears: dict[SampleEar, None] = {}

    @property
    def listeners(self) -> int:
        """How many pages are open, and a little more."""
        return len(self._ears)

    def listen(self, ear: Ear) -> Callable[[], None]:
        """Call somebody with what has happened, oldest first; returns what ends it."""
        self._ears[ear] = None
        return lambda: self._ears.pop(ear, None)

    def listen_to_samples(self, ear: SampleEar) -> Callable[[], None]:
        """Call somebody with the name of a node that was sampled; returns what ends it."""
        self._sample_ears[ear] = None
        return lambda: self._sample_ears.pop(ear, None)

    def listen_to_logs(self, job: str, ear: LogEar) -> Callable[[], None]:
        """Call somebody with each worker of a job that has printed something; returns what ends it."""
        loop = asyncio.get_running_loop()

        def ring(worker: WorkerId) -> None:  # from any thread
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(ear, worker)

        return self._here.logs.listen(job, ring)

    async def tell(self) -> None:
        """Listen and pass on, until cancelled."""
        loop = asyncio.get_running_loop()
        end = self._here.files.latest.listen(lambda node, _samples: self._heard_sample(loop, node, _samples))
        try:
            while not self._here.bell.closed:
                with suppress(StoreUnavailable):
                    await self._follow()
        finally:
            end()

    async def _follow(self) -> None:
        bell = self._here.bell
        with bell.listen() as woken:
            recent = await bell.begin_recent()
            place = recent.upto
            while not bell.closed:
                await woken.wait()
                woken.clear()
                await asyncio.sleep(BREATH)
                # Whoever fell behind by more than is kept redraws everything, as for any other news.
                news = [one.event for one in recent.after(max(place, recent.since))]
                place = recent.upto
                for ear in tuple(self._ears) if news else ():
                    ear(news)

    def _heard_sample(
        self, loop: asyncio.AbstractEventLoop, node: str, _samples: Sequence[NodeSample]
    ) -> None:
        """From any thread."""
        if self._sample_ears:
            with suppress(RuntimeError):  # the loop has ended
                loop.call_soon_threadsafe(self._pass_on, node)

    def _pass_on(self, node: str) -> None:
        for ear in tuple(self._sample_ears):
            ear(node)
