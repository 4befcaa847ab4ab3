"""How the server receives what nodes send: within one deadline, and a share of its own for each node.

A body that has not come wholly takes no place from others, and a node that sends more than its share is refused or
displaces its own older requests. So neither slow uploads nor many of them keep other nodes from being heard.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.requests import Request

from tenuto.errors import Told, Unreachable

BODY_SECONDS = 60.0
"""Time in which the whole body of a request must come: 4 MB at 70 kB/s."""
RECEIVING_PER_NODE = 16
"""Bodies of one node that may come at the same time; a supervisor sends about five."""
WAITING_PER_NODE = 2
"""Whole uploads of samples of one node that may wait or be taken in: the newest, and one that was given up."""
MAX_WAITING_BYTES = 512 << 20
"""Bytes of all whole uploads that wait: 64 times the share of one node, for a history that hangs."""
TAKERS = 2
"""Uploads of samples that are taken in at a time: it is work for the processor, so more would not be faster."""


class TooLarge(Told):
    """The body is larger than it may be."""

    code = "too_large"
    http_status = 413


class TooSlow(Told):
    """The body did not come in time, or newer requests of the node came instead."""

    code = "too_slow"
    http_status = 408


class BodyReader:
    """Reads bodies of requests. Belongs to the server's loop."""

    def __init__(self) -> None:
        self._receiving: dict[str, dict[asyncio.Timeout, None]] = {}
        """The deadlines of bodies that are coming, oldest first, by node."""

    async def read(self, request: Request, most_bytes: int, node: str) -> bytes:
        """The whole body. Raises TooLarge, TooSlow, and ClientDisconnect if the client goes away."""
        try:
            async with asyncio.timeout(BODY_SECONDS) as deadline:
                self._begin(node, deadline)
                try:
                    return await _read(request, most_bytes)
                finally:
                    self._end(node, deadline)
        except TimeoutError:
            raise TooSlow(
                f"the body did not come within {BODY_SECONDS:g} s, or newer requests of the node displaced it",
                remedy="Send the whole request at once",
            ) from None

    def _begin(self, node: str, deadline: asyncio.Timeout) -> None:
        receiving = self._receiving.setdefault(node, {})
        if len(receiving) >= RECEIVING_PER_NODE:
            oldest = next(iter(receiving))
            del receiving[oldest]
            oldest.reschedule(asyncio.get_running_loop().time())
        receiving[deadline] = None

    def _end(self, node: str, deadline: asyncio.Timeout) -> None:
        receiving = self._receiving.get(node, {})
        receiving.pop(deadline, None)
        if not receiving:
            self._receiving.pop(node, None)


async def _read(request: Request, most_bytes: int) -> bytes:
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > most_bytes:
            raise TooLarge(f"the body has more than {most_bytes} bytes", remedy="Send it in smaller pieces")
    return bytes(body)


class SampleQueue:
    """Where whole uploads of samples wait to be taken in. Belongs to the server's loop."""

    def __init__(self) -> None:
        self._takers = asyncio.Semaphore(TAKERS)
        self._waiting: Counter[str] = Counter()
        self._waiting_bytes = 0

    @asynccontextmanager
    async def turn(self, node: str, size: int) -> AsyncIterator[None]:
        """Wait for the turn of an upload of `size` bytes. Raises Unreachable if there is no place for it."""
        if self._waiting[node] >= WAITING_PER_NODE or self._waiting_bytes + size > MAX_WAITING_BYTES:
            raise Unreachable(
                "too many uploads of samples wait already", code="busy", remedy="Try again soon"
            )
        self._waiting[node] += 1
        self._waiting_bytes += size
        try:
            async with self._takers:
                yield
        finally:
            self._waiting_bytes -= size
            self._waiting[node] -= 1
            if not self._waiting[node]:
                del self._waiting[node]
