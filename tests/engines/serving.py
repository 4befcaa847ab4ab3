"""A local engine behind real HTTP on loopback, with a supervisor's half of the protocol to speak to it."""

from __future__ import annotations

import socket
import threading
from dataclasses import dataclass, field
from typing import Any, TypeVar

import httpx
import uvicorn
from fastapi import FastAPI
from tests.engines.authority import OpenAuthority, credential_of

from tenuto.engines.local import LocalEngine
from tenuto.engines.node_access import NodeAuthority
from tenuto.engines.node_api import LogSink, SampleSink, node_router
from tenuto.engines.questions import Questions
from tenuto.settings import Settings
from tenuto.wire.codec import decode, encode
from tenuto.wire.node import HEADER, PREFIX, PROTOCOL, Orders
from tenuto.wire.worker import WorkerId

TOKEN = "a-token-for-nodes"
T = TypeVar("T")


@dataclass
class KeptLogs:
    """A log sink in memory."""

    logs: dict[WorkerId, bytearray] = field(default_factory=dict)

    def append(self, worker: WorkerId, offset: int, data: bytes) -> int:
        log = self.logs.setdefault(worker, bytearray())
        if offset <= len(log):
            log[offset:] = data
        return len(log)


def an_app(
    engine: LocalEngine,
    logs: LogSink | None = None,
    settings: Settings | None = None,
    questions: Questions | None = None,
    samples: SampleSink | None = None,
    authority: NodeAuthority | None = None,
) -> FastAPI:
    """The protocol over the engine, for nodes that join with the token."""
    app = FastAPI()
    app.include_router(
        node_router(
            *(engine, logs or KeptLogs(), authority or OpenAuthority(TOKEN), settings or Settings()),
            questions,
            samples,
        )
    )
    return app


class Server:
    """A real server on loopback. What it serves can be exchanged, as starting a server for each test takes long."""

    def __init__(self) -> None:
        self.app: FastAPI | None = None
        self._listening = socket.create_server(("127.0.0.1", 0))
        config = uvicorn.Config(
            self._serve, log_level="warning", lifespan="off", ws="none", interface="asgi3"
        )
        self._server = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=self._server.run, args=([self._listening],), name="test server"
        )
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._listening.getsockname()[1]}"

    def close(self) -> None:
        self._server.should_exit = True
        self._thread.join(20.0)
        assert not self._thread.is_alive(), "the server did not end"

    async def _serve(self, scope: Any, receive: Any, send: Any) -> None:
        assert self.app is not None
        await self.app(scope, receive, send)


class Dialler:
    """A supervisor's half of the protocol, without a supervisor behind it."""

    def __init__(self, url: str, *, node: str = "노드-0", token: str = "", protocol: str = PROTOCOL) -> None:
        self._usual = {"node": node, "session": "s-1"}
        self.http = httpx.Client(
            base_url=url + PREFIX,
            headers={"Authorization": f"Bearer {token or credential_of(node)}", HEADER: protocol},
            timeout=30.0,
            trust_env=False,
        )

    def post(self, path: str, value: Any) -> httpx.Response:
        body = value if isinstance(value, bytes) else encode(value)
        return self.http.post(path, content=body, headers={"Content-Type": "application/json"})

    def say(self, path: str, value: Any, answer: type[T]) -> T:
        """Post what must be accepted."""
        return self.read(self.post(path, value), answer)

    def orders(self, **query: Any) -> Orders:
        return self.read(self.http.get("/orders", params=self._usual | query), Orders)

    def upload(self, worker: str, data: bytes, **query: Any) -> httpx.Response:
        return self.http.put(f"/logs/{worker}", content=data, params=self._usual | query)

    def read(self, response: httpx.Response, answer: type[T]) -> T:
        assert response.status_code == 200, response.text
        return decode(answer, response.content)

    def __enter__(self) -> Dialler:
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()
