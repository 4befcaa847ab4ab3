"""Answers that are asked for once."""

from __future__ import annotations

import asyncio

from tenuto.dashboard.shared import Shared


def test_questions_of_which_no_two_are_alike_are_not_hoarded() -> None:
    async def story() -> None:
        shared, asked = Shared(clock=lambda: 0.0), 0

        async def ask() -> int:
            nonlocal asked
            asked += 1
            return asked

        for number in range(10_000):
            await shared.get(("search", number), ask, 60.0)
        assert len(shared._kept) <= 256
        assert await shared.get(("search", 9_999), ask, 60.0) == asked == 10_000

    asyncio.run(story())
