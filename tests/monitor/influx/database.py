"""A small database for tests: takes lines by HTTP, and fails in every way that it is told to."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TypeAlias

from tenuto.settings import Influx


@dataclass(frozen=True)
class Reply:
    """What it says to a post; 0 hangs up without a word."""

    status: int
    body: str = ""
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Posted:
    """One request."""

    path: str
    headers: dict[str, str]
    lines: tuple[str, ...]


Mood: TypeAlias = Callable[[Posted], Reply]
WELL = Reply(204)


class Database(ThreadingHTTPServer):
    """What it answered with 2xx, it has."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.mood: Mood = lambda _: WELL
        self.requests: list[Posted] = []
        self.has: list[str] = []
        self.changed = threading.Condition()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    @property
    def settings(self) -> Influx:
        return Influx(url=self.url, database="данные")

    def answer(self, posted: Posted) -> Reply:
        reply = self.mood(posted)
        with self.changed:
            self.requests.append(posted)
            if reply.status // 100 == 2:
                self.has += posted.lines
            self.changed.notify_all()
        return reply

    def waits_for(self, look: Callable[[], bool]) -> None:
        """Until it holds, with a guard against never."""
        with self.changed:
            assert self.changed.wait_for(look, timeout=60), f"{len(self.requests)} requests, {self.has[-3:]}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Database

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        assert self.headers["Content-Encoding"] == "gzip"
        lines = tuple(filter(None, gzip.decompress(body).decode().split("\n")))
        reply = self.server.answer(Posted(self.path, dict(self.headers), lines))
        if reply.status == 0:
            self.close_connection = True
            return
        self.send_response(reply.status)
        for name, value in {**reply.headers, "Content-Length": str(len(reply.body.encode()))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(reply.body.encode())

    def log_message(self, *_: object) -> None:
        """Tests say what matters."""


@contextmanager
def database() -> Iterator[Database]:
    """One that listens, for as long as somebody needs it."""
    made = Database()
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield made
    finally:
        made.shutdown()
        thread.join()
        made.server_close()


def in_turn(replies: Sequence[Reply]) -> Mood:
    """These, one after the other, and then all is well."""
    left = list(replies)
    return lambda _: left.pop(0) if left else WELL
