"""The pages put together: NiceGUI on an app of its own, the API asked from inside, news for everybody."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Hashable
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

import httpx
from fastapi import FastAPI
from nicegui import app as pages
from nicegui import background_tasks, core, ui
from starlette.requests import Request
from starlette.types import ASGIApp

from tenuto.client.asynchronous import AsyncClient
from tenuto.dashboard.frame import nowhere, out_of_order
from tenuto.dashboard.news import News
from tenuto.dashboard.own_pages import guard_sockets, guarded_uploads
from tenuto.dashboard.shared import Shared
from tenuto.server.auth import Gate
from tenuto.server.platform import Platform
from tenuto.server.refusal_log import OneLineAMinute
from tenuto.store.base import Token

T = TypeVar("T")
RECONNECT = 10.0
"""Seconds for which a page that lost its connection is kept for it."""


@dataclass
class Site:
    """What pages work with."""

    api: FastAPI
    here: Platform
    gate: Gate
    directory: Path
    """Where runs of the laboratory lie that were begun on the page."""
    news: News = field(init=False)
    shared: Shared = field(default_factory=Shared)
    _asking: dict[str, AsyncClient] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.news = News(self.here)
        self.news.listen(lambda _: self.shared.forget())

    async def open(self, stack: AsyncExitStack) -> ASGIApp:
        """Begin to work on the loop that asks; `stack` ends it."""
        shell = FastAPI(openapi_url=None, docs_url=None, redoc_url=None)
        ui.run_with(
            shell,
            title="tenuto",
            favicon=Path(__file__).parent / "assets" / "icon.svg",
            dark=None,
            reconnect_timeout=RECONNECT,
            message_history_length=200,
            binding_refresh_interval=None,
            tailwind=True,
            show_welcome_message=False,
        )
        guard_sockets(core.sio)
        _shorten_socket_errors()
        pages.on_page_exception(out_of_order)
        pages.add_exception_handler(404, nowhere)
        await stack.enter_async_context(shell.router.lifespan_context(shell))
        telling = background_tasks.create(self.news.tell(), name="news")
        stack.callback(telling.cancel)
        return guarded_uploads(shell)

    def ask(self, request: Request) -> AsyncClient:
        """The API, asked for whoever looks at the page."""
        token: Token = request.state.visitor
        return self.ask_for(token)

    def ask_for(self, token: Token) -> AsyncClient:
        """The API, asked in the name of somebody who is known."""
        if token.digest not in self._asking:
            transport = httpx.ASGITransport(app=self.api, client=("the page", 0))
            secret = self.gate.lend(token)
            self._asking[token.digest] = AsyncClient(
                "http://localhost", secret, patience=0.0, transport=transport
            )
        return self._asking[token.digest]

    async def once(self, key: Hashable, ask: Callable[[], Awaitable[T]], seconds: float = 1.0) -> T:
        """An answer that is the same for everybody, asked for once for all pages."""
        return await self.shared.get(key, ask, seconds)


def _shorten_socket_errors() -> None:
    """Let broken messages of browsers cost one line a minute; engine.io logs a traceback for each, and twice."""
    for name in ("engineio.server", "socketio.server"):
        log = logging.getLogger(name)
        log.addFilter(OneLineAMinute())
        for handler in list(log.handlers):  # its own, besides those of the root logger
            log.removeHandler(handler)
