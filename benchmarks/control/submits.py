"""Many submissions by many clients at once: how soon each is durable, and how soon it is answered."""

from __future__ import annotations

import asyncio
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.control.clients import submit_all
from benchmarks.control.figures import Report, quantile
from benchmarks.control.http import Address, Connection
from benchmarks.control.server import Served, a_server

TABLE = "Submissions (durable when answered with 201)"
NODES, SLOTS = 125, 8
LOOKS_EVERY = 0.05
"""Seconds between two looks for verdicts."""
PATIENCE = 600.0
PROCESSES = 2


@dataclass(frozen=True, slots=True)
class Burst:
    """What is submitted."""

    jobs: int
    clients: int
    deadline: str
    """As written in a job; empty for none."""

    def forms(self) -> list[dict[str, Any]]:
        """The jobs as they are sent: an hour of one slot each."""
        due = {"deadline": self.deadline} if self.deadline else {}
        return [
            {
                "name": f"학습-{index}",
                "run": "python train.py",
                "workers": "1..4",
                "total": 3600,
                "curve": {"1": 1.0, "2": 1.9, "4": 3.5},
                "labels": {"team": "vision"},
                **due,
            }
            for index in range(self.jobs)
        ]


def measure(report: Report, bursts: Sequence[Burst], stores: Sequence[str]) -> None:
    """Every burst against a server of its own; "" is the store in its home."""
    for store in stores:
        for burst in bursts:
            with tempfile.TemporaryDirectory() as place, a_server(Path(place), NODES, SLOTS, store) as served:
                _one(report, burst, served, store.partition(":")[0] or "sqlite")


def _one(report: Report, burst: Burst, served: Served, store: str) -> None:
    forms, cpu = burst.forms(), served.cpu
    with _verdicts(served.address) as answered:
        done = submit_all(served.address, forms, burst.clients, PROCESSES)
        sent = [one for process in done for one in process.sent]
        took = max(one.stored for one in sent) - min(one.begun for one in sent)
        busy = served.cpu - cpu
        _await({one.job for one in sent}, answered)
        until = max(answered[one.job] for one in sent) - min(one.begun for one in sent)
    waited = [one.stored - one.begun for one in sent]
    verdict = [answered[one.job] - one.begun for one in sent]
    report.add(
        TABLE,
        {
            "store": store,
            "jobs": f"{burst.jobs:,} by {burst.clients}, {burst.deadline or 'no deadline'}",
            "submits/s": burst.jobs / took,
            "201 p50 ms": 1e3 * quantile(waited, 0.5),
            "201 p99 ms": 1e3 * quantile(waited, 0.99),
            "verdicts/s": burst.jobs / until,
            "verdict p50 s": quantile(verdict, 0.5),
            "verdict p99 s": quantile(verdict, 0.99),
            "server CPU ms/job": 1e3 * (served.cpu - cpu) / burst.jobs,
            "server CPUs": busy / took,
            "clients CPUs": sum(process.cpu for process in done) / took,
            "server MB": served.resident,
        },
    )


def submitted(served: Served, burst: Burst) -> list[str]:
    """Submit a burst and wait until all are answered; returns their ids."""
    with _verdicts(served.address) as answered:
        done = submit_all(served.address, burst.forms(), burst.clients, PROCESSES)
        jobs = [one.job for process in done for one in process.sent]
        _await(set(jobs), answered)
    return jobs


def _await(jobs: set[str], answered: dict[str, float]) -> None:
    deadline = time.monotonic() + PATIENCE
    while jobs - answered.keys():
        if time.monotonic() > deadline:
            raise RuntimeError(f"{len(jobs - answered.keys())} jobs are still without an answer")
        time.sleep(0.1)


@contextmanager
def _verdicts(address: Address) -> Iterator[dict[str, float]]:
    """When each job's first verdict could be read by a client, by job; filled in the background."""
    answered: dict[str, float] = {}
    stop = threading.Event()
    thread = threading.Thread(target=lambda: asyncio.run(_look(address, answered, stop)), daemon=True)
    thread.start()
    try:
        yield answered
    finally:
        stop.set()
        thread.join()


async def _look(address: Address, answered: dict[str, float], stop: threading.Event) -> None:
    connection, after = await Connection.open(address), 0
    while not stop.is_set():
        _, page = await connection.ask("GET", f"/api/v1/events?kind=verdict&limit=500&after={after}")
        seen = time.time()
        for event in page["items"]:
            answered.setdefault(event["job"], seen)
            after = event["id"]
        if page["next"] is None:
            await asyncio.to_thread(stop.wait, LOOKS_EVERY)
    await connection.close()
