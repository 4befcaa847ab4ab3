"""Whose page is whose: sockets and uploads name the page that they speak for, and may name their visitor's own only.

The names of pages cannot be guessed, but they stand in addresses, and addresses in logs of proxies.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol
from urllib.parse import parse_qs

from nicegui import Client
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

_OF_A_PAGE = re.compile(r"/_nicegui/client/([^/]*)/.*")
Handler = Callable[..., Any]


class Sockets(Protocol):
    """Of a server of Socket.IO, what is needed here."""

    handlers: dict[str, dict[str, Handler]]

    def on(self, event: str, handler: Handler) -> object:
        """Call somebody at an event."""
        ...

    def get_environ(self, sid: str) -> Mapping[str, Any]:
        """How a socket was opened."""
        ...


def is_strangers(page: object, scope: Mapping[str, Any]) -> bool:
    """Whether a page is open that is another visitor's than the one who asks."""
    known = Client.instances.get(page) if isinstance(page, str) else None
    if known is None:
        return False
    asks, owns = scope.get("state", {}).get("visitor"), getattr(known.request.state, "visitor", None)
    return asks is None or owns is None or asks.digest != owns.digest


def guard_sockets(server: Sockets) -> None:
    """Let no socket speak for a page of somebody else."""
    handlers = server.handlers["/"]
    for name in ("handshake", "event", "javascript_response", "ack", "log"):
        server.on(name, _only_own(server, handlers[name]))
    server.on("connect", _connecting(handlers["connect"]))


def _only_own(server: Sockets, handler: Handler) -> Callable[..., Awaitable[Any]]:
    async def told(sid: str, message: Mapping[str, Any]) -> Any:
        if is_strangers(message.get("client_id"), server.get_environ(sid)["asgi.scope"]):
            return False
        answer = handler(sid, message)
        return await answer if inspect.isawaitable(answer) else answer

    return told


def _connecting(handler: Handler) -> Callable[..., Awaitable[Any]]:
    async def connected(sid: str, environ: Mapping[str, Any], auth: object = None) -> Any:
        query = parse_qs(environ.get("QUERY_STRING", ""))
        if any(is_strangers(page, environ["asgi.scope"]) for page in query.get("client_id", ())):
            return False  # refuses it
        return await handler(sid, environ, auth)

    return connected


def guarded_uploads(app: ASGIApp) -> ASGIApp:
    """The same app, to which nobody hands in a file for a page of somebody else."""

    async def guarded(scope: Scope, receive: Receive, send: Send) -> None:
        named = _OF_A_PAGE.fullmatch(scope["path"]) if scope["type"] == "http" else None
        if named is not None and is_strangers(named[1], scope):
            return await PlainTextResponse("This page is somebody else's.", 403)(scope, receive, send)
        return await app(scope, receive, send)

    return guarded
