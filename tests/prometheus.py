"""Prometheus for tests, with the documented configuration: in a directory of its own, on loopback, gone at the end."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import yaml

DOCUMENTED = Path(__file__).parents[1] / "deploy" / "prometheus"
PATIENCE = 60.0


def program() -> str | None:
    """Where it is."""
    return shutil.which("prometheus")


class Refused(Exception):
    """A query that Prometheus does not understand or cannot answer."""


class Prometheus:
    """One that scrapes one server every other second: a busy machine may take one of them to answer."""

    def __init__(self, directory: Path, target: str, token: Path) -> None:
        self.directory = directory
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.address = f"127.0.0.1:{free.getsockname()[1]}"
        for file in DOCUMENTED.iterdir():
            shutil.copy(file, directory)
        self.config = directory / "prometheus.yml"
        documented = yaml.safe_load(self.config.read_text(encoding="utf-8"))
        documented["global"] = {"scrape_interval": "2s", "evaluation_interval": "2s"}
        [scrape] = documented["scrape_configs"]
        scrape["authorization"]["credentials_file"] = str(token)
        scrape["static_configs"] = [{"targets": [target]}]
        self.config.write_text(yaml.safe_dump(documented), encoding="utf-8")
        self.http = httpx.Client(
            base_url=f"http://{self.address}", trust_env=False, verify=False, timeout=60.0
        )

    def command(self) -> list[str]:
        found = program()
        assert found is not None
        return [
            found,
            f"--config.file={self.config}",
            f"--storage.tsdb.path={self.directory / 'data'}",
            f"--web.listen-address={self.address}",
            "--log.level=warn",
        ]

    def wait_until_ready(self) -> None:
        """Wait until it answers questions."""
        until = time.monotonic() + PATIENCE
        while not self._is_ready():
            assert time.monotonic() < until, (self.directory / "log").read_text(encoding="utf-8")[-2000:]
            time.sleep(0.05)

    def _is_ready(self) -> bool:
        try:
            return self.http.get("/-/ready").status_code == httpx.codes.OK
        except httpx.TransportError:
            return False

    def ask(self, path: str, **query: Any) -> Any:
        """What its API answers."""
        answer = self.http.get(f"/api/v1/{path}", params=query)
        told = answer.json()
        if told["status"] != "success":
            raise Refused(f"{query}: {told['error']}")
        return told["data"]

    def query(self, expression: str) -> list[dict[str, Any]]:
        """What an expression is now."""
        data = self.ask("query", query=expression)
        return data["result"] if data["resultType"] == "vector" else [{"metric": {}, "value": data["result"]}]

    def value(self, expression: str) -> float | None:
        """One number; None if there is none."""
        found = self.query(expression)
        assert len(found) <= 1, found
        return float(found[0]["value"][1]) if found else None

    def by(self, label: str, expression: str) -> dict[str, float]:
        """Numbers by one of their labels."""
        return {one["metric"][label]: float(one["value"][1]) for one in self.query(expression)}


@contextmanager
def prometheus(directory: Path, target: str, token: Path) -> Iterator[Prometheus]:
    """A Prometheus that scrapes `target`."""
    made = Prometheus(directory, target, token)
    with (directory / "log").open("wb") as log:
        process = subprocess.Popen(made.command(), stdout=log, stderr=log, stdin=subprocess.DEVNULL)
    try:
        made.wait_until_ready()
        yield made
    finally:
        made.http.close()
        process.terminate()
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait(PATIENCE)
