"""Asking a server in the same process: the whole app with its doors, without a port."""

from __future__ import annotations

import asyncio
from typing import Any

import httpx


class InProcess(httpx.BaseTransport):
    """Hands each request to an ASGI app and waits for the answer. Belongs to one thread."""

    def __init__(self, app: Any) -> None:
        self._app = httpx.ASGITransport(app)
        self._runner = asyncio.Runner()

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Ask the app."""
        return self._runner.run(self._answer(request))

    async def _answer(self, request: httpx.Request) -> httpx.Response:
        answer = await self._app.handle_async_request(request)
        return httpx.Response(answer.status_code, headers=answer.headers, content=await answer.aread())

    def close(self) -> None:
        """End what the app has begun."""
        self._runner.close()
