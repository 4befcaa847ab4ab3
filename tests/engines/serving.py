"""A local engine behind real HTTP on loopback, with a supervisor's half of the protocol to speak to it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

import httpx
import uvicorn
from fastapi import FastAPI

from tenuto.engines.local import LocalEngine
from tenuto.engines.node_api import LogSink, node_router
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


@contextmanager
def served(
    engine: LocalEngine, logs: LogSink | None = None, settings: Settings | None = None
) -> Iterator[str]:
    """The engine's address, while it is served."""
    app = FastAPI()
    app.include_router(
        node_router(engine, logs or KeptLogs(), lambda token: token == TOKEN, settings or Settings())
    )
    listening = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="off", ws="none"))
    thread = threading.Thread(target=server.run, args=([listening],), name="served engine")
    thread.start()
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        engine.close()
        server.should_exit = True
        thread.join(20.0)
        assert not thread.is_alive(), "the server did not end"


class Dialler:
    """A supervisor's half of the protocol, without a supervisor behind it."""

    def __init__(self, url: str, *, token: str = TOKEN, protocol: str = PROTOCOL) -> None:
        self.http = httpx.Client(
            base_url=url + PREFIX,
            headers={"Authorization": f"Bearer {token}", HEADER: protocol},
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
        return self.read(self.http.get("/orders", params=query), Orders)

    def upload(self, worker: str, data: bytes, **query: Any) -> httpx.Response:
        return self.http.put(f"/logs/{worker}", content=data, params=query)

    def read(self, response: httpx.Response, answer: type[T]) -> T:
        assert response.status_code == 200, response.text
        return decode(answer, response.content)

    def __enter__(self) -> Dialler:
        return self

    def __exit__(self, *_: object) -> None:
        self.http.close()
