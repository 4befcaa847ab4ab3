"""Answers that many pages show alike are asked for once."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable, Hashable
from typing import Any, TypeVar, cast

T = TypeVar("T")
_MOST = 256


class Shared:
    """Keeps answers for a moment. Belongs to one loop."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._kept: dict[Hashable, tuple[float, asyncio.Future[Any]]] = {}

    async def get(self, key: Hashable, ask: Callable[[], Awaitable[T]], seconds: float) -> T:
        """The answer, not older than so many seconds; whoever comes while it is asked for waits for the same."""
        now = self._clock()
        known = self._kept.get(key)
        if known is not None and now < known[0] + seconds and not _failed(known[1]):
            return cast(T, await asyncio.shield(known[1]))
        if len(self._kept) >= _MOST:
            # The older half: what somebody looks at is asked for again and again, and stands at the end.
            for old in list(self._kept)[: _MOST // 2]:
                del self._kept[old]
        future = asyncio.ensure_future(ask())
        self._kept.pop(key, None)
        self._kept[key] = (now, future)
        return await asyncio.shield(future)

    def forget(self) -> None:
        """Something has happened: what was asked for before may not be so any more."""
        self._kept.clear()


def _failed(future: asyncio.Future[Any]) -> bool:
    return future.done() and (future.cancelled() or future.exception() is not None)
