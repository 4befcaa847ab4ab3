"""Many listeners of the event stream: how soon they hear of a submission, and what they cost those who submit."""

from __future__ import annotations

import asyncio
import json
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.control.clients import submit_all
from benchmarks.control.figures import Report, quantile
from benchmarks.control.http import Address, Connection
from benchmarks.control.server import Served, a_server
from benchmarks.control.submits import NODES, PROCESSES, SLOTS, Burst

TABLE = "Listeners of the event stream"
STREAM = "/api/v1/events/stream?topics=jobs&kind=submitted"
PATIENCE = 60.0


def measure(report: Report, jobs: int, clients: int, listeners: int) -> None:
    """The same burst without and with listeners, on one server."""
    with tempfile.TemporaryDirectory() as place, a_server(Path(place), NODES, SLOTS) as served:
        for count in (0, listeners):
            _one(report, served, Burst(jobs, clients, ""), count)


def _one(report: Report, served: Served, burst: Burst, count: int) -> None:
    with _listening(served.address, count) as heard:
        done = submit_all(served.address, burst.forms(), burst.clients, PROCESSES)
        sent = [one for process in done for one in process.sent]
        _await(heard, {one.job for one in sent})
    took = max(one.stored for one in sent) - min(one.begun for one in sent)
    stored = {one.job: one.stored for one in sent}
    begun = {one.job: one.begun for one in sent}
    behind = [at - stored[job] for one in heard for job, at in one.items() if job in stored]
    since = [at - begun[job] for one in heard for job, at in one.items() if job in begun]
    report.add(
        TABLE,
        {
            "listeners": count,
            "submits/s": len(sent) / took,
            "201 p50 ms": 1e3 * quantile([one.stored - one.begun for one in sent], 0.5),
            "201 p99 ms": 1e3 * quantile([one.stored - one.begun for one in sent], 0.99),
            "heard behind the 201, p50 ms": 1e3 * quantile(behind, 0.5) if behind else "",
            "p99 ms": 1e3 * quantile(behind, 0.99) if behind else "",
            "since the request, p99 ms": 1e3 * quantile(since, 0.99) if since else "",
        },
    )


def _await(heard: list[dict[str, float]], jobs: set[str]) -> None:
    deadline = time.monotonic() + PATIENCE
    while any(jobs - one.keys() for one in heard):
        if time.monotonic() > deadline:
            raise RuntimeError("listeners have not heard of all submissions")
        time.sleep(0.05)


@contextmanager
def _listening(address: Address, count: int) -> Iterator[list[dict[str, float]]]:
    """For each listener, when it heard of each job; they listen in a thread of their own."""
    heard: list[dict[str, float]] = [{} for _ in range(count)]
    ready, loop = threading.Event(), asyncio.new_event_loop()
    thread = threading.Thread(target=_listen_all, args=(loop, address, heard, ready), daemon=True)
    thread.start()
    ready.wait(PATIENCE)
    try:
        yield heard
    finally:
        loop.call_soon_threadsafe(lambda: [task.cancel() for task in asyncio.all_tasks(loop)])
        thread.join(PATIENCE)


def _listen_all(
    loop: asyncio.AbstractEventLoop, address: Address, heard: list[dict[str, float]], ready: threading.Event
) -> None:
    async def run() -> None:
        connections = [await Connection.open(address) for _ in heard]
        for connection in connections:
            await connection.send("GET", STREAM)
            await connection.head()
        ready.set()
        await asyncio.gather(
            *(_listen(connection, one) for connection, one in zip(connections, heard, strict=True)),
            asyncio.Event().wait(),
        )

    try:
        loop.run_until_complete(run())
    except asyncio.CancelledError:
        pass
    finally:
        loop.close()


async def _listen(connection: Connection, heard: dict[str, float]) -> None:
    try:
        while True:
            line = await connection.line()
            if line.startswith("data:"):
                job = json.loads(line.removeprefix("data:")).get("job", "")
                heard.setdefault(job, time.time())
    finally:
        await connection.close()
