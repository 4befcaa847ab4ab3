"""No route answers without a token unless it is listed here, whatever way its path is spelled."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest
from fastapi import FastAPI, WebSocket
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message
from tests.engines.authority import OpenAuthority
from tests.security.route_walk import all_routes

from tenuto.dashboard.house import House
from tenuto.dashboard.visitors import Visitors
from tenuto.engines.local import LocalEngine
from tenuto.engines.node_api import node_router
from tenuto.server.app import create_app
from tenuto.server.auth import USER, digest_of
from tenuto.server.platform import Files
from tenuto.settings import Settings
from tenuto.store.base import Token
from tenuto.store.logs import LogStore
from tenuto.store.memory import MemoryStore
from tenuto.store.steps import StepStore
from tenuto.wire.node import HEADER, PROTOCOL

TOKEN = "a-token-for-users"
PUBLIC = {"/healthz", "/readyz", "/api/v1/healthz", "/api/v1/readyz", "/api/v1/openapi.json"}
REFUSALS = {303, 401, 403, 404}
"""To the login page, or by an error; anything else would come from the route."""


@dataclass
class Pages:
    """What is behind the login, in place of NiceGUI."""

    async def open(self, _: AsyncExitStack) -> ASGIApp:
        return PlainTextResponse("a page")


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FastAPI]:
    """The server as `tenuto up` composes it, with one route of each kind that no list mentions."""
    directory: Path = tmp_path_factory.mktemp("server")
    settings, store = Settings(), MemoryStore()
    store.write(lambda tx: tx.add_token(Token(digest=digest_of(TOKEN), user="kim", kind=USER)))
    logs = LogStore(directory / "logs", 1 << 20)
    nodes = node_router(LocalEngine(silence=15.0), logs, OpenAuthority("a token for joining"), settings)
    files = Files(logs, StepStore(directory / "records", 1 << 20))
    app = create_app(store, files, settings, lambda: 0.0, [nodes])
    app.router.default = House(Visitors(store, "a key", lambda: 0.0), Pages, app.router.default)

    @app.get("/forgotten")
    async def forgotten() -> str:
        return "a route without a list of tokens"

    @app.websocket("/forgotten/socket")
    async def forgotten_socket(socket: WebSocket) -> None:
        await socket.accept()

    yield app
    app.state.platform.bell.close()
    store.close()


def routes_of(app: FastAPI) -> list[tuple[str, frozenset[str]]]:
    """The template and the methods of each route; a websocket has none."""
    return [(route.path, frozenset(getattr(route, "methods", None) or ())) for route in all_routes(app)]


def spellings(template: str) -> list[str]:
    """Ways to write a path that some part of a server might take for the same."""
    path = template.replace("{", "").replace("}", "").replace(":path", "")
    return [
        path,
        f"{path}%0a",
        f"{path}%0d%0a",
        f"{path}%00",
        f"{path}%20",
        f"{path}/",
        f"/{path}",
        f"/.{path}",
        f"{path};x=1",
        f"{path}%3f",
        path.upper(),
        path.replace("/", "%2f"),
        path.replace("/", "//"),
    ]


async def ask(app: FastAPI, kind: str, method: str, target: str, **headers: str) -> Message:
    """The first message of an answer to a request, spelled as it came over the network."""
    raw = {"host": "127.0.0.1", "content-length": "0", HEADER: PROTOCOL, **headers}
    scope: dict[str, Any] = {
        "type": kind,
        "method": method,
        "path": unquote(target),
        "raw_path": target.encode(),
        "query_string": b"",
        "scheme": "http" if kind == "http" else "ws",
        "headers": [(name.lower().encode(), value.encode()) for name, value in raw.items()],
        "client": ("192.0.2.1", 1),
        "http_version": "1.1",
        "root_path": "",
    }
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request"} if kind == "http" else {"type": "websocket.connect"}

    async def send(message: Message) -> None:
        sent.append(message)

    await app(scope, receive, send)
    return sent[0]


def test_every_route_but_the_public_ones_refuses_requests_without_a_token(app: FastAPI) -> None:
    async def all_of_them() -> list[str]:
        return [
            f"{method} {target} {status}"
            for template, methods in routes_of(app)
            for target in spellings(template)
            for method in methods | {"HEAD", "OPTIONS"}
            if template not in PUBLIC
            and (status := (await ask(app, "http", method, target))["status"]) not in REFUSALS
        ]

    assert asyncio.run(all_of_them()) == []


def test_every_path_refuses_websockets_without_a_token(app: FastAPI) -> None:
    async def all_of_them() -> list[str]:
        return [
            f"{target} {answer['type']}"
            for template, _ in routes_of(app)
            for target in spellings(template)
            if (answer := await ask(app, "websocket", "GET", target))["type"] != "websocket.close"
        ]

    assert asyncio.run(all_of_them()) == []


def test_the_walk_sees_the_whole_app(app: FastAPI) -> None:
    """The tests above would hold for an app without routes, too."""
    templates = {template for template, _ in routes_of(app)}

    assert templates >= PUBLIC | {
        "/metrics",
        "/api/v1/jobs/{ref}",
        "/api/node/v1/orders",
        "/forgotten",
        "/forgotten/socket",
    }


def test_a_token_opens_what_is_closed_without_it(app: FastAPI) -> None:
    async def story() -> None:
        known = {"authorization": f"Bearer {TOKEN}"}
        for path in ("/api/v1/jobs", "/metrics", "/forgotten"):
            assert (await ask(app, "http", "GET", path, **known))["status"] == 200
        assert (await ask(app, "websocket", "GET", "/forgotten/socket", **known))[
            "type"
        ] == "websocket.accept"

    asyncio.run(story())


def test_public_routes_answer_without_a_token(app: FastAPI) -> None:
    async def story() -> None:
        for path in PUBLIC:
            assert (await ask(app, "http", "GET", path))["status"] in (200, 503)

    asyncio.run(story())


def test_a_websocket_must_name_this_host(app: FastAPI) -> None:
    async def story() -> None:
        known = {"authorization": f"Bearer {TOKEN}", "host": "evil.example"}
        refused = await ask(app, "websocket", "GET", "/forgotten/socket", **known)
        assert refused["type"] == "websocket.close"

    asyncio.run(story())
