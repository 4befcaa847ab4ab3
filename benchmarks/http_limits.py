"""What the limits of the HTTP server cost: requests and processor time with them, relative to uvicorn's own protocol.

    python benchmarks/http_limits.py [--rounds 7] [--seconds 2]

Both servers run at the same time on loopback and are measured in turns, so that other load on the machine meets both;
processor time of the server per request hardly depends on such load.
One application answers nothing but a fixed text, which shows the cost of the protocol alone; the other one is the
platform's API over an empty store.
"""

from __future__ import annotations

import argparse
import asyncio
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import uvicorn
from rich.console import Console
from rich.table import Table

from tenuto.server.app import create_app
from tenuto.server.auth import USER, digest_of
from tenuto.server.http_protocol import ServerConfig
from tenuto.server.platform import Files
from tenuto.settings import Settings
from tenuto.store.base import Token
from tenuto.store.logs import LogStore
from tenuto.store.memory import MemoryStore
from tenuto.store.steps import StepStore

TOKEN = "a-token-of-the-benchmark"
CONNECTIONS = 16
PATHS = {"fixed": "/", "api": "/api/v1/jobs"}
SERVERS = ("limited", "plain")


async def fixed_answer(scope: Any, _: Any, send: Any) -> None:
    """An application that does nothing."""
    if scope["type"] == "http":
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
        await send({"type": "http.response.body", "body": b"ok"})


def api(directory: Path) -> Any:
    """The platform's API over an empty store."""
    store = MemoryStore()
    store.write(lambda tx: tx.add_token(Token(digest=digest_of(TOKEN), user="bench", kind=USER)))
    files = Files(LogStore(directory / "logs", 1 << 20), StepStore(directory / "records", 1 << 20))
    return create_app(store, files, Settings(), time.time)


def serve(server: str, application: str, descriptor: int) -> None:
    """Serve until the process is ended; the socket was opened by the parent."""
    with tempfile.TemporaryDirectory() as directory:
        app = fixed_answer if application == "fixed" else api(Path(directory))
        options: dict[str, Any] = {"log_level": "critical", "lifespan": "off"}
        if server == "limited":
            config: uvicorn.Config = ServerConfig(app, Settings().serving, **options)
        else:
            config = uvicorn.Config(app, http="httptools", access_log=False, server_header=False, **options)
        uvicorn.Server(config).run([socket.socket(fileno=descriptor)])


@dataclass(frozen=True)
class Running:
    """A server under load."""

    port: int
    process: psutil.Process

    def cpu_seconds(self) -> float:
        """Processor time that it has used until now."""
        used = self.process.cpu_times()
        return used.user + used.system


@dataclass(frozen=True)
class Measured:
    """One server in one round."""

    requests_per_second: float
    cpu_microseconds: float
    """Per request."""


@contextmanager
def running(server: str, application: str) -> Iterator[Running]:
    """Run a server in a process of its own."""
    with socket.create_server(("127.0.0.1", 0), backlog=128) as listening:
        command = [sys.executable, __file__, "--serve", server, application, str(listening.fileno())]
        process = subprocess.Popen(command, pass_fds=[listening.fileno()])
        try:
            yield Running(listening.getsockname()[1], psutil.Process(process.pid))
        finally:
            process.terminate()
            process.wait(30)


async def ask(port: int, path: str, until: float) -> int:
    """Send one request after the other on one connection; returns how many were answered."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    request = f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {TOKEN}\r\n\r\n".encode()
    count = 0
    while time.monotonic() < until:
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 "), head
        length = head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0]
        await reader.readexactly(int(length))
        count += 1
    writer.close()
    await writer.wait_closed()
    return count


async def load(server: Running, path: str, seconds: float) -> Measured:
    """Measure a server under requests over several connections."""
    begun, used = time.monotonic(), server.cpu_seconds()
    counts = await asyncio.gather(*(ask(server.port, path, begun + seconds) for _ in range(CONNECTIONS)))
    total = sum(counts)
    return Measured(total / (time.monotonic() - begun), (server.cpu_seconds() - used) / total * 1e6)


def measure(application: str, rounds: int, seconds: float) -> dict[str, list[Measured]]:
    """Measure each server in each round, after a first round that does not count."""
    measured: dict[str, list[Measured]] = {server: [] for server in SERVERS}
    with ExitStack() as stack:
        servers = {server: stack.enter_context(running(server, application)) for server in SERVERS}
        for number in range(rounds + 1):
            for server in SERVERS if number % 2 else SERVERS[::-1]:
                result = asyncio.run(load(servers[server], PATHS[application], seconds))
                if number > 0:
                    measured[server].append(result)
    return measured


def add_row(table: Table, application: str, quantity: str, measured: dict[str, list[float]]) -> None:
    """Show the median of each server, and the ratio in each round."""
    limited, plain = (measured[server] for server in SERVERS)
    ratios = [one / other for one, other in zip(limited, plain, strict=True)]
    medians = [f"{statistics.median(values):.0f}" for values in (limited, plain)]
    span = f"{min(ratios):.2f} to {max(ratios):.2f}"
    table.add_row(application, quantity, *medians, f"{statistics.median(ratios):.2f}", span)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--serve", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        server, application, descriptor = options.serve
        serve(server, application, int(descriptor))
        return
    table = Table("application", "", "with limits", "without", "ratio", "of single rounds", box=None)
    for application in PATHS:
        measured = measure(application, options.rounds, options.seconds)
        rates = {server: [one.requests_per_second for one in rows] for server, rows in measured.items()}
        times = {server: [one.cpu_microseconds for one in rows] for server, rows in measured.items()}
        add_row(table, application, "requests/s", rates)
        add_row(table, application, "processor µs per request", times)
    Console().print(table)


if __name__ == "__main__":
    main()
