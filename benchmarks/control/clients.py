"""Clients that submit as fast as they are answered; many in each process, and several processes."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from typing import Any

from benchmarks.control.http import Address, Connection

SUBMIT = "/api/v1/jobs"


@dataclass(frozen=True, slots=True)
class Share:
    """What one process of clients does."""

    address: Address
    clients: int
    jobs: tuple[dict[str, Any], ...]


@dataclass(frozen=True, slots=True)
class Sent:
    """One submission. Unix seconds."""

    job: str
    begun: float
    stored: float


@dataclass(frozen=True, slots=True)
class Done:
    """What one process of clients has done."""

    sent: tuple[Sent, ...]
    cpu: float
    """Seconds of processor time."""


def submit_all(address: Address, jobs: Sequence[dict[str, Any]], clients: int, processes: int) -> list[Done]:
    """Submit all jobs; returns when the last one is stored."""
    processes = min(processes, clients)
    shares = [
        Share(address, len(range(one, clients, processes)), tuple(jobs[one::processes]))
        for one in range(processes)
    ]
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        return list(pool.map(_submit_share, shares))


def _submit_share(share: Share) -> Done:
    begun = time.process_time()
    sent = asyncio.run(_together(share))
    return Done(tuple(sent), time.process_time() - begun)


async def _together(share: Share) -> list[Sent]:
    waiting = iter(share.jobs)
    done: list[Sent] = []

    async def client() -> None:
        connection = await Connection.open(share.address)
        for job in waiting:
            begun = time.time()
            status, answer = await connection.ask("POST", SUBMIT, json.dumps(job).encode())
            if status != 201:
                raise RuntimeError(f"the server answered {status}: {answer}")
            done.append(Sent(answer["id"], begun, time.time()))
        await connection.close()

    await asyncio.gather(*(client() for _ in range(share.clients)))
    return done
