"""Questions are worked out a few at a time; who would wait too long is told so."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from tenuto.errors import Busy
from tenuto.server.desk import Desk

GUARD = 20.0


class Asker:
    """A request whose client is there, or has gone."""

    def __init__(self, *, gone: bool = False) -> None:
        self.gone = gone

    async def is_disconnected(self) -> bool:
        return self.gone


def test_no_more_than_so_many_are_worked_out_at_a_time() -> None:
    lock, now, most = threading.Lock(), 0, 0

    def work() -> int:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        with lock:
            now -= 1
        return 7

    async def ask(desk: Desk) -> list[int]:
        request: Any = Asker()
        return await asyncio.gather(*(desk.answer(request, work) for _ in range(20)))

    answers = asyncio.run(asyncio.wait_for(ask(Desk(at_a_time=2, waiting=20)), GUARD))

    assert answers == [7] * 20
    assert most <= 2


def test_who_waits_longer_than_is_sensible_is_told_to_come_again() -> None:
    async def ask() -> None:
        desk, release, request = Desk(at_a_time=1, patience=0.01), threading.Event(), Asker()
        slow = asyncio.create_task(desk.answer(request, lambda: release.wait(GUARD)))  # type: ignore[arg-type]
        await asyncio.sleep(0)
        try:
            with pytest.raises(Busy, match="within"):
                await desk.answer(request, lambda: None)  # type: ignore[arg-type]
        finally:
            release.set()
        assert await slow

    asyncio.run(asyncio.wait_for(ask(), GUARD))


def test_nothing_is_worked_out_for_somebody_who_has_gone() -> None:
    worked = []

    async def ask() -> None:
        request: Any = Asker(gone=True)
        with pytest.raises(Busy):
            await Desk().answer(request, lambda: worked.append(1))

    asyncio.run(asyncio.wait_for(ask(), GUARD))

    assert worked == []
