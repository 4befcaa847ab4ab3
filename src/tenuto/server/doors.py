"""What every request passes before it reaches a resource: known host, known token, a body of bearable size.

Plain ASGI, so that a request is refused before its body is read, and a stream stays a stream.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import ip_address

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tenuto.errors import NotAllowed, TenutoError
from tenuto.server.auth import USER, Gate
from tenuto.server.errors import Refused, body_too_large, error_response
from tenuto.server.guests import Guests

SECURITY_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}
"""For the API; pages for people bring their own."""


def is_loopback(host: str) -> bool:
    """Whether this address is reached from this machine only."""
    if host.lower() == "localhost":
        return True
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


class KnownHost:
    """Refuse other names for a server that listens on loopback only.

    Otherwise a page from elsewhere could point its own name at this machine and let a browser ask for it.
    """

    def __init__(self, app: ASGIApp, bound_to: str, names: Sequence[str] = ()) -> None:
        self.app = app
        self.checks = is_loopback(bound_to)
        self.names = {name.lower() for name in names}
        """Those by which a proxy on this machine is called."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check the header Host."""
        if scope["type"] == "http" and self.checks:
            host = Headers(scope=scope).get("host", "")
            name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
            if not is_loopback(name) and name.lower() not in self.names:
                error = Refused(
                    f"this server is not called {name[:100]!r}",
                    code="host_not_known",
                    remedy="Call it by 127.0.0.1 or localhost, or add the name of a proxy to the setting serving.names",
                )
                return await error_response(error)(scope, receive, send)
        return await self.app(scope, receive, send)


class SafeHeaders:
    """Tell browsers to keep their hands off the API's answers."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Add the headers."""
        if scope["type"] != "http" or not scope["path"].startswith("/api/"):
            return await self.app(scope, receive, send)

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in SECURITY_HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        return await self.app(scope, receive, with_headers)


@dataclass(frozen=True, slots=True)
class Door:
    """Which tokens open some paths."""

    method: str
    """Any, if empty."""
    path: str
    """A regular expression for all of it; a dot stands for line feeds too, so that nothing slips through."""
    kinds: tuple[str, ...]

    def leads_to(self, scope: Scope) -> bool:
        """Whether a request wants in here."""
        return self.method in ("", scope["method"]) and bool(
            re.fullmatch(self.path, scope["path"], re.DOTALL)
        )


class KnownToken:
    """Let nobody in without a token of the right kind."""

    def __init__(
        self, app: ASGIApp, gate: Gate, doors: Sequence[Door], without: frozenset[str], guests: Guests
    ) -> None:
        self.app = app
        self.gate = gate
        self.guests = guests
        self.doors = doors
        """The first that leads to a path counts."""
        self.without = without
        """Paths that need none."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Check the token and remember whose it is."""
        door = self._door(scope)
        if door is None:
            return await self.app(scope, receive, send)
        header = Headers(scope=scope).get("authorization", "")
        try:
            token = self.gate.remembered(header) or await run_in_threadpool(self.gate.known, header)
            self.gate.check(token, *door.kinds)
        except TenutoError as error:
            if isinstance(error, NotAllowed):
                self.guests.stranger(scope)
            return await error_response(error)(scope, receive, send)
        if token is not None and token.kind == USER:
            self.guests.came(token.user, scope)
        scope.setdefault("state", {})["token"] = token
        return await self.app(scope, receive, send)

    def _door(self, scope: Scope) -> Door | None:
        if scope["type"] != "http" or scope["path"] in self.without:
            return None
        return next((door for door in self.doors if door.leads_to(scope)), None)


class BodyLimit:
    """Stop reading a body at its limit, announced or not."""

    def __init__(self, app: ASGIApp, prefix: str, limit: int) -> None:
        self.app = app
        self.prefix = prefix
        """Other paths look after themselves."""
        self.limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Count while the body is read."""
        if scope["type"] != "http" or not scope["path"].startswith(self.prefix):
            return await self.app(scope, receive, send)
        limit = self.limit
        announced = Headers(scope=scope).get("content-length", "0")
        if announced.isdigit() and int(announced[:20]) > limit:
            return await error_response(body_too_large(str(limit)))(scope, receive, send)
        read = 0

        async def counted() -> Message:
            nonlocal read
            message = await receive()
            read += len(message.get("body", b""))
            if read > limit:
                raise HTTPException(413, str(limit))
            return message

        return await self.app(scope, counted, send)


class LiveInstead:
    """Lead those who ask for a list but take a stream to the stream, as browsers' EventSource does."""

    def __init__(self, app: ASGIApp, list_: str, stream: str) -> None:
        self.app = app
        self.list = list_
        self.stream = stream

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Look at the header Accept."""
        is_list = scope["type"] == "http" and scope["path"] == self.list and scope["method"] == "GET"
        if is_list and "text/event-stream" in Headers(scope=scope).get("accept", ""):
            scope = {**scope, "path": self.stream, "raw_path": self.stream.encode()}
        return await self.app(scope, receive, send)
