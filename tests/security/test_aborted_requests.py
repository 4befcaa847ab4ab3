"""Clients that go away in the middle of a request: one short line per address in the log, whichever route reads it."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from starlette.websockets import WebSocket
from tests.e2e.platform import eventually
from tests.engines.authority import credential_of
from tests.engines.serving import TOKEN as JOIN_TOKEN
from tests.engines.serving import an_app
from tests.security.raw_client import RawClient
from tests.server.serving import TOKEN, Served, a_server

from tenuto.dashboard.house import House
from tenuto.dashboard.visitors import Visitors
from tenuto.engines.local import LocalEngine
from tenuto.server.errors import Incidents
from tenuto.server.refusal_log import OneLineAMinute
from tenuto.wire.node import HEADER, PREFIX, PROTOCOL

ABORTED = 20
MOST_CHARACTERS = 300
"""Of all entries about the aborted requests of one address together."""


class NoPages:
    """What is behind the login form, in place of NiceGUI."""

    async def open(self, stack: AsyncExitStack) -> ASGIApp:
        return PlainTextResponse("a page")


@dataclass
class Counted:
    """An application that counts the requests that it has handled, whatever came of them."""

    app: ASGIApp
    handled: int = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await self.app(scope, receive, send)
        finally:
            self.handled += 1


@dataclass
class Site:
    """A server with the login form, and what it has handled."""

    server: Served
    counted: Counted

    def abort(self, method: str, path: str, **headers: str) -> None:
        """Begin a request and close the connection when the application reads its body."""
        handled = self.counted.handled
        with RawClient(self.server.url) as client:
            client.request(method, path, Content_Length="100", **headers)
            client.send("token=a")
        eventually(lambda: self.counted.handled > handled, "the request has ended")


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    with a_server(tmp_path) as server:
        visitors = Visitors(server.store, "a key", time.time)
        server.app.router.default = House(visitors, NoPages, server.app.router.default)
        server.app.include_router(an_app(LocalEngine()).router)
        assert server.http.get("/healthz").is_success  # builds the stack of middleware
        incidents = _incidents(server.app.middleware_stack)
        incidents.app = counted = Counted(incidents.app)
        yield Site(server, counted)


def _incidents(app: ASGIApp) -> Incidents:
    while not isinstance(app, Incidents):
        app = app.app  # type: ignore[attr-defined]
    return app


def text_of(caplog: pytest.LogCaptureFixture) -> str:
    """All entries from INFO on as they are written, but those about nodes and users that come online."""
    form = logging.Formatter("%(message)s")
    written = [form.format(record) for record in caplog.records if record.levelno >= logging.INFO]
    return "\n".join(entry for entry in written if not entry.startswith("online from"))


def test_aborted_logins_cost_one_short_line(site: Site, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO):
        for _ in range(ABORTED):
            site.abort("POST", "/login", Content_Type="application/x-www-form-urlencoded")

    written = text_of(caplog)
    assert written.count("\n") == 0
    assert "127.0.0.1" in written and "/login" in written
    assert len(written) < MOST_CHARACTERS


@pytest.mark.parametrize(
    ("method", "path", "headers"),
    [
        ("POST", "/api/v1/jobs", {"Authorization": f"Bearer {TOKEN}", "Content_Type": "application/json"}),
        ("POST", "/api/v1/jobs/dry-run", {"Authorization": f"Bearer {TOKEN}"}),
        ("POST", f"{PREFIX}/join", {"Authorization": f"Bearer {JOIN_TOKEN}", HEADER: PROTOCOL}),
        ("POST", f"{PREFIX}/hello", {"Authorization": f"Bearer {credential_of('node-1')}", HEADER: PROTOCOL}),
        ("POST", f"{PREFIX}/probe", {"Authorization": f"Bearer {credential_of('node-1')}", HEADER: PROTOCOL}),
    ],
)
def test_an_aborted_body_leaves_no_traceback_on_any_route(
    site: Site, caplog: pytest.LogCaptureFixture, method: str, path: str, headers: dict[str, str]
) -> None:
    with caplog.at_level(logging.INFO):
        site.abort(method, path, **headers)

    assert len(text_of(caplog)) < MOST_CHARACTERS
    assert not any(record.exc_info for record in caplog.records)
    assert site.server.http.get("/healthz").is_success


def test_an_application_never_takes_half_a_body_for_the_whole(caplog: pytest.LogCaptureFixture) -> None:
    bodies: list[bytes] = []

    async def careless(scope: Scope, receive: Receive, send: Send) -> None:
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        bodies.append(body)

    messages: Iterator[Message] = iter(
        [{"type": "http.request", "body": b"half", "more_body": True}, {"type": "http.disconnect"}]
    )
    with caplog.at_level(logging.INFO):
        asyncio.run(_handle(careless, "http", messages, (b"content-length", b"8")))

    assert bodies == []
    assert len(caplog.records) == 1


def test_a_websocket_that_goes_away_leaves_no_traceback(caplog: pytest.LogCaptureFixture) -> None:
    async def echo(scope: Scope, receive: Receive, send: Send) -> None:
        socket = WebSocket(scope, receive, send)
        await socket.accept()
        await socket.receive_text()

    messages: Iterator[Message] = iter(
        [{"type": "websocket.connect"}, {"type": "websocket.disconnect", "code": 1006}]
    )
    with caplog.at_level(logging.INFO):
        asyncio.run(_handle(echo, "websocket", messages))

    assert [record.exc_info for record in caplog.records] == [None]


async def _handle(
    app: ASGIApp, kind: str, messages: Iterator[Message], *headers: tuple[bytes, bytes]
) -> None:
    async def receive() -> Message:
        return next(messages)

    async def send(message: Message) -> None:
        pass

    scope = {"type": kind, "path": "/x", "headers": list(headers), "client": ("192.0.2.1", 5)}
    await Incidents(app)({**scope, "method": "POST"} if kind == "http" else scope, receive, send)


def test_a_library_that_logs_a_traceback_per_message_logs_a_line_a_minute(
    caplog: pytest.LogCaptureFixture,
) -> None:
    moments = iter([0.0, 1.0, 59.0, 60.0])
    log = logging.getLogger("tests.of.a.library")
    limit = OneLineAMinute(lambda: next(moments))
    log.addFilter(limit)
    for _ in range(4):
        try:
            int("t" * 1000)
        except ValueError:
            log.exception("post request handler error")
    log.removeFilter(limit)

    assert [record.exc_info for record in caplog.records] == [None, None]
    assert "2 more" in caplog.records[1].getMessage()
    assert len(text_of(caplog)) < 2 * MOST_CHARACTERS + 100
