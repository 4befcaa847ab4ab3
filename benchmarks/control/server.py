"""A real server in a process of its own, with nodes that are only said to be there."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
from benchmarks.control.http import Address, Connection

import tenuto
from tenuto.client.plain import PlainClient
from tenuto.model.node import Slot
from tenuto.wire.codec import encode
from tenuto.wire.node import PREFIX, Hello, Report

UP = (sys.executable, "-m", "tenuto", "up", "--json", "--no-local")
SIGN_OF_LIFE = 5.0
"""Seconds between two signs of life of a node; a third of the time after which it would count as lost."""
_WARM = {"name": "warm-up", "run": "true", "workers": 1, "total": 10, "curve": {"1": 1.0}, "deadline": "+1h"}


class Served:
    """A server that decides, and what it costs."""

    def __init__(self, address: Address, process: psutil.Process) -> None:
        self.address, self._process = address, process

    def client(self) -> PlainClient:
        """A client for questions that are not to be many."""
        return PlainClient(self.address.url, self.address.token)

    @property
    def cpu(self) -> float:
        """Seconds of processor time so far."""
        used = self._process.cpu_times()
        return float(used.user + used.system)

    @property
    def resident(self) -> float:
        """Megabytes in memory."""
        return float(self._process.memory_info().rss / 1e6)


@contextmanager
def a_server(home: Path, nodes: int, slots: int, store: str = "") -> Iterator[Served]:
    """A server with this many stand-in nodes, which start nothing; gone at the end. `store` is a database's URL."""
    environment = {**os.environ, "TENUTO_HOME": str(home)}
    environment.pop("TENUTO_STORE", None)
    if store:
        environment["TENUTO_STORE"] = store
    with (home / "log").open("ab") as log:
        process = subprocess.Popen(UP, env=environment, stdout=subprocess.PIPE, stderr=log)
    try:
        assert process.stdout
        told = json.loads(process.stdout.readline())
        address = Address(told["url"], (home / "token").read_text().strip())
        way_in = Address(told["url"], (home / "node-token").read_text().strip())
        with _nodes(way_in, nodes, slots):
            served = Served(address, psutil.Process(process.pid))
            _await_decisions(served)
            yield served
    finally:
        process.terminate()
        process.wait(30)


def _await_decisions(served: Served) -> None:
    """Wait until kernels are compiled and a job has been answered."""
    with served.client() as client:
        job = client.submit(_WARM)["id"]
        for _ in range(20):
            if client.job(job, wait="verdict", timeout=20)["state"] not in ("submitted", "unschedulable"):
                return
            time.sleep(0.2)
    raise RuntimeError("the server decides nothing")


@contextmanager
def _nodes(address: Address, nodes: int, slots: int) -> Iterator[None]:
    """Give signs of life for nodes from a thread of their own."""
    stop = threading.Event()
    failed: list[BaseException] = []

    def run() -> None:
        try:
            asyncio.run(_alive(address, nodes, slots, stop))
        except BaseException as error:  # noqa: BLE001 - whoever measures is told
            failed.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
    if failed:
        raise failed[0]


async def _alive(address: Address, nodes: int, slots: int, stop: threading.Event) -> None:
    connection = await Connection.open(address)
    names = [f"node-{index:04d}" for index in range(nodes)]
    for name in names:
        hello: Any = Hello(
            node=name, session=name, slots=(Slot(),) * slots, address="127.0.0.1", version=tenuto.__version__
        )
        await connection.ask("POST", f"{PREFIX}/hello", encode(hello))
    await connection.close()
    while not stop.is_set():
        connection = await Connection.open(address)  # a server closes those that are silent for a few seconds
        for name in names:
            report = Report(node=name, session=name, workers=())
            await connection.ask("POST", f"{PREFIX}/report", encode(report))
        await connection.close()
        await asyncio.to_thread(stop.wait, SIGN_OF_LIFE)
