"""Clients that read slowly, and clients that do not read at all."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import uvicorn

from tenuto.server import http_protocol
from tenuto.server.http_protocol import ServerConfig
from tenuto.settings import Serving

CHUNK = bytes(65_536)
CHUNKS = 128
"""8 MiB: more than the kernel keeps for a connection."""
STALLED_SECONDS = 0.5
PAUSE_SECONDS = 0.02
BUFFER_BYTES = 65_536


class Download:
    """An application that sends more than a connection can hold."""

    def __init__(self) -> None:
        self.ended = threading.Event()

    async def __call__(self, _: Any, __: Any, send: Any) -> None:
        length = str(len(CHUNK) * CHUNKS).encode()
        headers = [(b"content-length", length), (b"connection", b"close")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        for number in range(CHUNKS):
            await send({"type": "http.response.body", "body": CHUNK, "more_body": number < CHUNKS - 1})
        self.ended.set()


@pytest.fixture
def download(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Download, socket.socket]]:
    """A download that has begun, from a server that waits half a second for its reader."""
    monkeypatch.setattr(http_protocol, "STALLED_WRITE_SECONDS", STALLED_SECONDS)
    app = Download()
    with a_server(app) as port, socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, BUFFER_BYTES)
        client.settimeout(20)
        client.connect(("127.0.0.1", port))
        client.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        yield app, client


@contextmanager
def a_server(app: Any) -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER_BYTES)
        config = ServerConfig(app, Serving(), log_level="critical", ws="none", lifespan="off")
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, args=([listening],))
        thread.start()
        try:
            yield listening.getsockname()[1]
        finally:
            server.should_exit = True
            thread.join(20)
            assert not thread.is_alive()


def read_all(client: socket.socket, pause: float) -> int:
    """Read until the server closes the connection; returns the number of bytes."""
    never, count = threading.Event(), 0
    try:
        while piece := client.recv(BUFFER_BYTES):
            count += len(piece)
            never.wait(pause)
    except ConnectionResetError:
        pass
    return count


def test_a_client_that_reads_slowly_gets_everything(download: tuple[Download, socket.socket]) -> None:
    _, client = download

    assert read_all(client, PAUSE_SECONDS) > len(CHUNK) * CHUNKS


def test_a_client_that_does_not_read_is_cut_off(download: tuple[Download, socket.socket]) -> None:
    app, client = download

    assert app.ended.wait(20)
    assert read_all(client, 0) < len(CHUNK) * CHUNKS
