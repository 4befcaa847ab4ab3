"""What every request passes before it reaches a resource: a known host, a body of limited size, safe headers.

Plain ASGI, so that a request is refused before its body is read, and a stream stays a stream.
"""

from __future__ import annotations

from collections.abc import Sequence
from ipaddress import ip_address

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tenuto.server.errors import Refused, body_too_large, error_response, refuse

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
        if scope["type"] in ("http", "websocket") and self.checks:
            host = Headers(scope=scope).get("host", "")
            name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
            if not is_loopback(name) and name.lower() not in self.names:
                error = Refused(
                    f"this server is not called {name[:100]!r}",
                    code="host_not_known",
                    remedy="Call it by 127.0.0.1 or localhost, or add the name of a proxy to the setting serving.names",
                )
                return await refuse(error, scope, receive, send)
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
