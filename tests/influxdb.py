"""Real databases that take line protocol, for tests: InfluxDB 1.x with passwords, and VictoriaMetrics.

Each has a directory of its own, listens on loopback, can be ended and started again on its data, and is gone at the
end by its process's id.
"""

from __future__ import annotations

import json
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

HANG = 60.0
USER, PASSWORD = "писец", "s e;c,r=e\"t'"
AUTH = httpx.BasicAuth(USER.encode(), PASSWORD.encode())
INFLUXDB = """reporting-disabled = true
bind-address = "127.0.0.1:{inner}"
[meta]
dir = "{place}/meta"
[data]
dir = "{place}/data"
wal-dir = "{place}/wal"
[http]
bind-address = "127.0.0.1:{port}"
auth-enabled = true
log-enabled = false
[monitor]
store-enabled = false
[logging]
level = "warn"
"""


def free_port() -> int:
    """One that nobody listens on now."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


class _Server:
    """A process that may be killed and come back."""

    program = ""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self.client = httpx.Client(base_url=self.url)

    @classmethod
    def is_there(cls) -> bool:
        return shutil.which(cls.program) is not None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def arguments(self) -> Iterable[str]:
        raise NotImplementedError

    def start(self) -> None:
        """Start it and wait until it answers."""
        with (self.directory / "log").open("ab") as log:
            self._process = subprocess.Popen(
                [self.program, *self.arguments()], stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )
        until = time.monotonic() + HANG
        while not self._answers():
            assert self._process.poll() is None, (self.directory / "log").read_text()[-2000:]
            assert time.monotonic() < until, "it does not answer"
            time.sleep(0.05)

    def end(self, number: signal.Signals = signal.SIGKILL) -> None:
        """End it; SIGKILL is what a power cut does."""
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait(HANG)
            self._process = None

    def _answers(self) -> bool:
        try:
            return self.client.get("/ping").status_code == httpx.codes.NO_CONTENT
        except httpx.TransportError:
            return False


class InfluxDb(_Server):
    """InfluxDB 1.x; whoever writes needs the password."""

    program = "influxd"

    def arguments(self) -> Iterable[str]:
        config = self.directory / "influxdb.conf"
        if not config.exists():
            config.write_text(INFLUXDB.format(place=self.directory, port=self.port, inner=free_port()))
        return ("-config", str(config))

    def ask(self, query: str, database: str = "") -> list[Any]:
        """The series that a query finds; an error is a failure of the test."""
        told = {"q": query, "db": database, "epoch": "ms"}
        reply = self.client.post("/query", data=told, auth=AUTH)
        (result,) = reply.raise_for_status().json()["results"]
        assert "error" not in result, f"{result['error']}: {query}"
        return list(result.get("series", ()))

    def write(self, lines: bytes, database: str) -> None:
        """Hand lines in, as a person would."""
        wanted = {"db": database, "precision": "ms"}
        self.client.post("/write", params=wanted, content=lines, auth=AUTH).raise_for_status()

    def admit(self) -> None:
        """Make the first user, who may do everything."""
        name, password = USER.replace('"', '\\"'), PASSWORD.replace("'", "\\'")
        query = f"CREATE USER \"{name}\" WITH PASSWORD '{password}' WITH ALL PRIVILEGES"
        self.client.post("/query", data={"q": query}).raise_for_status()


class VictoriaMetrics(_Server):
    """It takes what is written for InfluxDB 2.x."""

    program = "victoria-metrics"

    def arguments(self) -> Sequence[str]:
        options = {
            "storageDataPath": self.directory / "data",
            "httpListenAddr": f"127.0.0.1:{self.port}",
            "memory.allowedBytes": "64MB",
            "dedup.minScrapeInterval": "1ms",  # what is written twice is one point
            "loggerLevel": "ERROR",
        }
        return [f"-{name}={value}" for name, value in options.items()]

    def points(self, selector: str, since: float, until: float) -> list[tuple[int, float]]:
        """Every point of a series as it was written."""
        self.client.get("/internal/force_flush").raise_for_status()
        reply = self.client.get("/api/v1/export", params={"match[]": selector, "start": since, "end": until})
        series = [json.loads(line) for line in reply.raise_for_status().text.splitlines()]
        return sorted(pair for one in series for pair in zip(one["timestamps"], one["values"], strict=True))


@contextmanager
def influxdb(directory: Path) -> Iterator[InfluxDb]:
    """InfluxDB with an administrator, and no database yet."""
    made = InfluxDb(directory)
    try:
        made.start()
        made.admit()
        yield made
    finally:
        made.client.close()
        made.end()


@contextmanager
def victoria_metrics(directory: Path) -> Iterator[VictoriaMetrics]:
    """VictoriaMetrics."""
    made = VictoriaMetrics(directory)
    try:
        made.start()
        yield made
    finally:
        made.client.close()
        made.end()
