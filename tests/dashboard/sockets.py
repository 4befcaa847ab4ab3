"""Open pages without a browser: what a tab asks for and hears, for as many of them as one likes.

A page is fetched as a browser does, then its socket is opened and answered (Socket.IO over one WebSocket). What
comes is counted; nothing is drawn.
"""

from __future__ import annotations

import asyncio
import re
import ssl
import uuid
from dataclasses import dataclass, field
from types import TracebackType
from typing import Self
from urllib.parse import urlencode, urlsplit

import httpx
from websockets.asyncio.client import ClientConnection, connect

_CLIENT = re.compile(r"client_id['\"]?\s*:\s*['\"]([0-9a-f-]{36})['\"]")
PATIENCE = 120.0


@dataclass
class OpenPage:
    """One tab: what it weighs, and what it was told since."""

    path: str
    bytes: int
    seconds: float
    """Until it had come."""
    socket: ClientConnection
    heard: list[str] = field(default_factory=list)
    news: asyncio.Event = field(default_factory=asyncio.Event)

    async def listen(self) -> None:
        """Hear what is pushed, and say that we are there when asked."""
        async for message in self.socket:
            text = message if isinstance(message, str) else message.decode()
            if text == "2":
                await self.socket.send("3")
            elif text.startswith("42"):
                self.heard.append(text)
                self.news.set()

    async def hears(self, words: str) -> None:
        """Wait until something with these words was pushed."""
        async with asyncio.timeout(PATIENCE):
            while not any(words in text for text in self.heard):
                self.news.clear()
                await self.news.wait()


class Tabs:
    """Somebody with many tabs."""

    def __init__(self, url: str, path_that_logs_in: str, trust: ssl.SSLContext | None = None) -> None:
        self.url = url
        self._trust = trust
        self._enter = path_that_logs_in
        self.http = httpx.AsyncClient(base_url=url, timeout=PATIENCE, trust_env=False, verify=trust or False)
        self.tabs: list[OpenPage] = []
        self._listening: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> Self:
        assert (await self.http.get(self._enter)).status_code == httpx.codes.SEE_OTHER
        return self

    async def __aexit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        for tab, task in zip(self.tabs, self._listening, strict=True):
            task.cancel()
            await tab.socket.close()
        await self.http.aclose()

    async def open(self, path: str) -> OpenPage:
        """One more tab."""
        begun = asyncio.get_running_loop().time()
        answer = await self.http.get(path)
        assert answer.status_code == httpx.codes.OK, f"{path}: {answer.status_code}"
        seconds = asyncio.get_running_loop().time() - begun
        found = _CLIENT.search(answer.text)
        assert found is not None, f"{path} has no client: {answer.text[-3000:]}"
        query = {
            "client_id": found[1],
            "next_message_id": 0,
            "implicit_handshake": "true",
            "document_id": str(uuid.uuid4()),
            "tab_id": str(uuid.uuid4()),
            "EIO": 4,
            "transport": "websocket",
        }
        where = urlsplit(self.url)
        cookies = "; ".join(f"{name}={value}" for name, value in self.http.cookies.items())
        socket = await connect(
            f"{'ws' if self._trust is None else 'wss'}://{where.netloc}/_nicegui_ws/socket.io/?{urlencode(query)}",
            origin=self.url,  # type: ignore[arg-type]
            additional_headers={"Cookie": cookies},
            max_size=None,
            ssl=self._trust,
            proxy=None,
        )
        await socket.recv()
        await socket.send("40")
        tab = OpenPage(path, int(answer.headers.get("content-length", len(answer.content))), seconds, socket)
        self.tabs.append(tab)
        self._listening.append(asyncio.create_task(tab.listen()))
        return tab
