"""A socket speaks for the pages of its own visitor, whatever page it names."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from nicegui import Client
from starlette.responses import PlainTextResponse

from tenuto.dashboard.own_pages import guard_sockets, guarded_uploads
from tenuto.store.base import Token

ANNA, BERT = Token(digest="a", user="Anna"), Token(digest="b", user="Bert")
SOCKETS = {"annas": {"visitor": ANNA}, "berts": {"visitor": BERT}, "nobodys": {}}


@pytest.fixture(autouse=True)
def annas_page(monkeypatch: pytest.MonkeyPatch) -> None:
    page = SimpleNamespace(request=SimpleNamespace(state=SimpleNamespace(visitor=ANNA)))
    monkeypatch.setattr(Client, "instances", {"annas page": page})


def environ(whose: str) -> dict[str, Any]:
    return {
        "asgi.scope": {"state": SOCKETS[whose]},
        "QUERY_STRING": "client_id=annas+page&implicit_handshake=true",
    }


class FakeSockets:
    """A server of Socket.IO, as far as it is asked."""

    def __init__(self) -> None:
        self.handlers: dict[str, dict[str, Any]] = {"/": {}}

    def on(self, event: str, handler: Any) -> None:
        self.handlers["/"][event] = handler

    def get_environ(self, sid: str) -> dict[str, Any]:
        return environ(sid)


def heard() -> tuple[FakeSockets, list[tuple[str, str]]]:
    """A server with handlers as NiceGUI has them, some of which wait; and what comes to them."""
    server = FakeSockets()
    came: list[tuple[str, str]] = []
    for name in ("event", "javascript_response", "ack", "log"):
        server.on(name, lambda sid, _message, name=name: came.append((sid, name)))

    async def connect(sid: str, _environ: object, _auth: object = None) -> None:
        came.append((sid, "connect"))

    async def handshake(sid: str, _message: object) -> bool:
        came.append((sid, "handshake"))
        return True

    server.on("connect", connect)
    server.on("handshake", handshake)
    guard_sockets(server)
    return server, came


def test_nothing_that_others_say_in_the_name_of_a_page_is_heard() -> None:
    server, came = heard()
    said = ("handshake", "event", "javascript_response", "ack", "log")

    async def story() -> None:
        for whose in SOCKETS:
            for name in said:
                await server.handlers["/"][name](whose, {"client_id": "annas page"})
        for whose in ("berts", "nobodys"):
            assert await server.handlers["/"]["connect"](whose, environ(whose), None) is False
        await server.handlers["/"]["connect"]("annas", environ("annas"))

    asyncio.run(story())
    assert came == [("annas", name) for name in (*said, "connect")]


def test_a_file_is_handed_in_for_ones_own_page_only() -> None:
    async def status(whose: str) -> int:
        app = guarded_uploads(PlainTextResponse("taken"))

        async def as_visitor(scope: Any, receive: Any, send: Any) -> None:
            await app({**scope, "state": SOCKETS[whose]}, receive, send)

        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(app=as_visitor), base_url="http://x"
        ) as http:
            return (await http.post("/_nicegui/client/annas page/upload/7", content=b"x")).status_code

    assert [asyncio.run(status(whose)) for whose in SOCKETS] == [200, 403, 403]
