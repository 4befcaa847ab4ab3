"""The door of the page: who may come in, and loading what is behind it when somebody first does.

It takes what no other part of the server answers. NiceGUI takes a second or two to load, so that is done when the
first visitor comes, in a thread; nobody who only uses the API pays for it.
"""

from __future__ import annotations

import asyncio
import html
import logging
import math
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from pathlib import Path
from typing import Protocol
from urllib.parse import parse_qs, quote, urlsplit

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tenuto.client_connection import mark_authenticated
from tenuto.dashboard.visitors import SESSION, Visitors, comes_from_here
from tenuto.store.base import StoreUnavailable

log = logging.getLogger(__name__)

ASSETS = "/page/"
SCRIPTS, ICON = "/_nicegui/", "/favicon.ico"
"""What is open to all: scripts and styles, which hold nothing of anybody."""
NOT_OURS = ("/api/", "/metrics", "/healthz", "/readyz")
"""Below these the server's own words are the better ones."""
PAGE_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    # What Vue makes of templates is evaluated; everything comes from here and nothing from elsewhere.
    "Content-Security-Policy": (
        "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data:; font-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; "
        "form-action 'self'; base-uri 'self'"
    ),
}
SOCKET_CHECK_SECONDS = 5.0
"""How soon an open page notices that its session has ended."""
_FOREIGN_ORIGIN = (
    "This request comes from another page. If this one is reached through a proxy with TLS, the setting "
    "serving.proxies must name the proxy's address, and the proxy must send X-Forwarded-Proto."
)
RETRY_SECONDS = 10.0
"""Time after which pages that could not be loaded are loaded again: each attempt costs a thread and a traceback."""
_LONGEST_FORM = 4096
_LARGEST_UPLOAD = 64 << 20
"""Bytes; what a page takes may be less."""
_FILES = Path(__file__).parent / "assets"
_TYPES = {".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}


class Inside(Protocol):
    """What is behind the door."""

    async def open(self, stack: AsyncExitStack) -> ASGIApp:
        """Begin to work; `stack` ends it."""
        ...


class House:
    """An ASGI app for all paths that nobody else knows."""

    def __init__(self, visitors: Visitors, load: Callable[[], Inside], nobody: ASGIApp) -> None:
        self._visitors = visitors
        self._load = load
        self._nobody = nobody
        """Answers what is not ours."""
        self._inside: ASGIApp | None = None
        self._opening: asyncio.Task[None] | None = None
        self._failed_at = 0.0
        """When the pages could not be loaded last, in seconds of the loop's clock."""
        self._stack = AsyncExitStack()

    async def close(self) -> None:
        """End what is behind the door."""
        if self._opening is not None:
            self._opening.cancel()
        await self._stack.aclose()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let visitors in, and show others where they may."""
        path = scope["path"]
        if path.startswith(NOT_OURS):
            return await self._nobody(scope, receive, send)
        if scope["type"] == "websocket":
            return await self._socket(scope, receive, send)
        answer = await self._answer(scope, receive, path)
        if answer is not None:
            answer.headers.update(PAGE_HEADERS)
            return await answer(scope, receive, send)
        assert self._inside is not None
        return await self._inside(scope, receive, _with_headers(send))

    async def _answer(self, scope: Scope, receive: Receive, path: str) -> Response | None:
        """What the door says itself; None to let somebody in."""
        if path.startswith(ASSETS):
            return _asset(path.removeprefix(ASSETS))
        self._begin_to_open()  # while whoever logs in types
        reads = scope["method"] in ("GET", "HEAD")
        # Reading, too: sockets that are polled for would be answered to any page that asks.
        if not comes_from_here(scope):
            return HTMLResponse(_FOREIGN_ORIGIN, 403)
        if not reads and _length(scope) > _LARGEST_UPLOAD:
            return HTMLResponse("That is too much.", 413)
        if path in ("/login", "/logout", "/enter"):
            return await self._at_the_door(Request(scope, receive), path)
        if not (reads and (path.startswith(SCRIPTS) or path == ICON)):
            token = await run_in_threadpool(self._visitors.who, scope)
            if token is None:
                wanted = path + (
                    f"?{scope['query_string'].decode('latin-1')}" if scope["query_string"] else ""
                )
                return RedirectResponse(f"/login?next={quote(wanted)}", 303)
            mark_authenticated(scope)
            scope.setdefault("state", {})["visitor"] = token
        return None if await self._is_open() else _closed()

    async def _socket(self, scope: Scope, receive: Receive, send: Send) -> None:
        """A page that is open and wants to hear; only one of ours, of somebody we know."""
        token = await run_in_threadpool(self._visitors.who, scope)
        if token is None or not comes_from_here(scope) or not await self._is_open():
            await receive()
            return await send({"type": "websocket.close", "code": 4401})
        mark_authenticated(scope)
        scope.setdefault("state", {})["visitor"] = token
        assert self._inside is not None
        return await self._inside(scope, self._while_logged_in(scope, receive, send), send)

    def _while_logged_in(self, scope: Scope, receive: Receive, send: Send) -> Receive:
        """Receive until the session has ended: a page that stays open must not outlive it by more than a moment."""
        loop = asyncio.get_running_loop()
        checked = loop.time()

        async def watched() -> Message:
            nonlocal checked
            message = await receive()
            if message["type"] != "websocket.receive" or loop.time() < checked + SOCKET_CHECK_SECONDS:
                return message
            checked = loop.time()
            with suppress(StoreUnavailable):  # it cannot be known now; later
                if await run_in_threadpool(self._visitors.who, scope) is None:
                    await send({"type": "websocket.close", "code": 4401})
                    return {"type": "websocket.disconnect", "code": 4401}
            return message

        return watched

    async def _is_open(self) -> bool:
        """Wait until what is behind the door is loaded; false if that fails."""
        await asyncio.shield(self._begin_to_open())
        return self._inside is not None

    def _begin_to_open(self) -> asyncio.Task[None]:
        """Load the pages; if that has failed, again after a pause: requests without a session come here, too."""
        has_failed = self._opening is not None and self._opening.done() and self._inside is None
        may_retry = asyncio.get_running_loop().time() >= self._failed_at + RETRY_SECONDS
        if self._opening is None or (has_failed and may_retry):
            self._opening = asyncio.create_task(self._open())
        return self._opening

    async def _open(self) -> None:
        try:
            inside = await run_in_threadpool(self._load)
            self._inside = await inside.open(self._stack)
        except Exception:
            self._failed_at = asyncio.get_running_loop().time()
            log.exception("the page could not be loaded; the rest of the server goes on")

    async def _at_the_door(self, request: Request, path: str) -> Response:
        if path == "/logout":
            away = RedirectResponse("/login", 303)
            if request.method == "POST":
                await run_in_threadpool(self._visitors.end, request.scope)
                away.delete_cookie(self._visitors.cookie)
            return away
        if path == "/enter":
            ticket = request.query_params.get("ticket", "")
            session = await run_in_threadpool(self._visitors.session_with, ticket)
            return self._let_in(request, session, "/", "This link was used before, or is too old.")
        if request.method != "POST":
            return login_page(_inner(request.query_params.get("next", "/")))
        form = await _form(request)
        session = await run_in_threadpool(self._visitors.session_for, form.get("token", "").strip())
        return self._let_in(request, session, _inner(form.get("next", "/")), "This token is not known here.")

    def _let_in(self, request: Request, session: str | None, path: str, trouble: str) -> Response:
        if session is None:
            return login_page(path, trouble)
        answer = RedirectResponse(path, 303)
        answer.set_cookie(
            self._visitors.cookie,
            session,
            max_age=SESSION,
            httponly=True,
            samesite="lax",
            secure=request.url.scheme == "https",
        )
        return answer


async def _form(request: Request) -> dict[str, str]:
    """The fields of a small form."""
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > _LONGEST_FORM:
            return {}
    return {name: values[0] for name, values in parse_qs(body.decode("utf-8", "replace")).items()}


def _length(scope: Scope) -> float:
    """Of a body, as it is announced; one that is not may be of any length."""
    announced = Headers(scope=scope).get("content-length", "")
    return int(announced[:20]) if announced.isdigit() else math.inf


def _inner(path: str) -> str:
    """A path of this server, whatever was asked for."""
    try:
        parts = urlsplit(path)
    except ValueError:  # such as brackets that are no address
        return "/"
    inner = path.startswith("/") and not path.startswith(("//", "/\\")) and not parts.netloc
    return path if inner and not parts.scheme else "/"


def _asset(name: str) -> Response:
    file = _FILES / name
    if file.suffix not in _TYPES or file.parent != _FILES or not file.is_file():
        return HTMLResponse("There is no such file.", 404)
    return FileResponse(file, media_type=_TYPES[file.suffix], headers={"Cache-Control": "no-cache"})


def login_page(next_: str, trouble: str = "") -> HTMLResponse:
    """Asks for a token."""
    said = f'<p role="alert">{html.escape(trouble)}</p>' if trouble else ""
    body = f"""<form method="post" action="login">
<h1>tenuto</h1>{said}
<label for="token">Token</label>
<input id="token" name="token" type="password" autocomplete="current-password" required autofocus>
<input type="hidden" name="next" value="{html.escape(next_, quote=True)}">
<button>Log in</button>
<p class="hint">It is in the file <code>token</code> of the platform's home. <code>tenuto open</code> logs you in
without it.</p></form>"""
    return _plain("Log in", body, 401 if trouble else 200)


def _closed() -> HTMLResponse:
    return _plain("Out of order", "<p>The page could not be loaded. The server's log tells why.</p>", 503)


def _plain(title: str, body: str, status: int) -> HTMLResponse:
    return HTMLResponse(
        f"""<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title} · tenuto</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="/page/icon.svg"><link rel="stylesheet" href="/page/door.css"></head>
<body>{body}</body></html>""",
        status,
        headers={"Cache-Control": "no-store"},
    )


def _with_headers(send: Send) -> Send:
    async def with_headers(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            for name, value in PAGE_HEADERS.items():
                headers.setdefault(name, value)
            if Headers(raw=message["headers"]).get("content-type", "").startswith("text/html"):
                headers["Cache-Control"] = "no-store"
        await send(message)

    return with_headers
