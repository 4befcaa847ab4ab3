"""Just enough of an HTTP client that asking costs little beside answering: one connection, one request at a time."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit


@dataclass(frozen=True, slots=True)
class Address:
    """A server, and what it lets us in for."""

    url: str
    token: str

    @property
    def place(self) -> tuple[str, int]:
        """Host and port."""
        parts = urlsplit(self.url)
        return parts.hostname or "127.0.0.1", parts.port or 80


class Connection:
    """Kept open from request to request."""

    def __init__(self, address: Address, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        host, port = address.place
        self._reader, self._writer = reader, writer
        self._common = (
            f"Host: {host}:{port}\r\nAuthorization: Bearer {address.token}\r\n"
            "Content-Type: application/json\r\nTenuto-Protocol: 1\r\n"
        )

    @classmethod
    async def open(cls, address: Address) -> Connection:
        """Connect."""
        return cls(address, *await asyncio.open_connection(*address.place))

    async def ask(self, method: str, path: str, body: bytes = b"") -> tuple[int, Any]:
        """The status and the body of the answer."""
        await self.send(method, path, body)
        status, headers = await self.head()
        content = await self._reader.readexactly(int(headers["content-length"]))
        return status, json.loads(content) if content else None

    async def send(self, method: str, path: str, body: bytes = b"") -> None:
        """Send a request."""
        head = f"{method} {path} HTTP/1.1\r\n{self._common}Content-Length: {len(body)}\r\n\r\n"
        self._writer.write(head.encode() + body)
        await self._writer.drain()

    async def head(self) -> tuple[int, dict[str, str]]:
        """The status and the headers of the answer, names in lower case."""
        first, *lines = (await self._reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        pairs = (line.partition(":") for line in lines if line)
        return int(first.split()[1]), {name.lower(): value.strip() for name, _, value in pairs}

    async def line(self) -> str:
        """The next line of a body that has no end."""
        return (await self._reader.readline()).decode().rstrip("\r\n")

    async def close(self) -> None:
        """Hang up."""
        self._writer.close()
