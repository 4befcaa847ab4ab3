"""Questions that take a while are worked out a few at a time, so that many who ask do not starve the controller.

The others wait their turn without holding a thread; who would wait too long is told to come again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Annotated, TypeVar

from fastapi import Depends, Request
from starlette.concurrency import run_in_threadpool

from tenuto.errors import Busy

T = TypeVar("T")
AT_A_TIME = 2
MOST_WAITING = 50
PATIENCE = 30.0
"""Seconds for which a question waits for its turn."""


class Desk:
    """Where questions are answered. Belongs to the server's loop."""

    def __init__(
        self, at_a_time: int = AT_A_TIME, waiting: int = MOST_WAITING, patience: float = PATIENCE
    ) -> None:
        self._turn = asyncio.Semaphore(at_a_time)
        self._room, self._patience = waiting, patience
        self._waiting = 0

    async def answer(self, request: Request, work: Callable[[], T]) -> T:
        """Work out one question in a thread, when its turn has come and if somebody still wants to know."""
        await self._wait()
        try:
            if await request.is_disconnected():
                raise _busy("nobody waits for the answer any more")
            return await run_in_threadpool(work)
        finally:
            self._turn.release()

    async def _wait(self) -> None:
        if self._waiting >= self._room:
            raise _busy(f"{self._waiting} questions wait for an answer already")
        self._waiting += 1
        try:
            async with asyncio.timeout(self._patience):
                await self._turn.acquire()
        except TimeoutError:
            raise _busy(f"no answer could be worked out within {self._patience:g} seconds") from None
        finally:
            self._waiting -= 1


def _busy(problem: str) -> Busy:
    return Busy(problem, remedy=f"Ask again in {Busy.retry_after} seconds")


async def _desk(request: Request) -> Desk:
    desk: Desk = request.app.state.desk
    return desk


Questions = Annotated[Desk, Depends(_desk)]
