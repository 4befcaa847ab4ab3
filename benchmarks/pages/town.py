"""A platform with a long past and many nodes: a store filled beforehand, a real server on it, nodes that only tell."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path

from benchmarks.control.http import Address, Connection
from benchmarks.control.server import Served, a_server
from benchmarks.monitoring.feed import samples

from tenuto.cli.home import Home
from tenuto.model.event import Event
from tenuto.model.job import Job, JobSpec, Progress
from tenuto.model.phase import Phase
from tenuto.store.base import Tx
from tenuto.store.open import open_store
from tenuto.wire.codec import encode
from tenuto.wire.node import PREFIX, Samples

SLOTS = 8
BATCH = 5000
OWNERS = ("kim", "민준", "Żaneta", "lee", "天宇")
MODELS = ("resnet50", "bert", "gpt2", "학습", "vgg16", "deepspeech2")
ENDS = (Phase.SUCCEEDED, Phase.SUCCEEDED, Phase.SUCCEEDED, Phase.FAILED, Phase.CANCELLED, Phase.DECLINED)
SAMPLE_EVERY = 10.0
"""Seconds between two samples of a node: what a server with a thousand nodes asks for."""


def fill(home: Path, jobs: int) -> None:
    """Ended jobs of the last two months, with three events each."""
    chance, now = random.Random(3), time.time()
    with closing(open_store(Home(home).store_url)) as store:
        for first in range(0, jobs, BATCH):
            numbers = range(first, min(first + BATCH, jobs))
            made = [_job(chance, number, now - 60 * 86_400 * (1 - number / jobs)) for number in numbers]
            store.write(lambda tx, made=made: _add(tx, made))  # type: ignore[misc]


def _job(chance: random.Random, number: int, at: float) -> Job:
    steps, end = float(chance.randrange(100, 100_000)), chance.choice(ENDS)
    spec = JobSpec(
        name=f"{chance.choice(MODELS)}-{number}",
        run=("python", "train.py"),
        min_workers=1,
        max_workers=8,
        steps=steps,
        curve={1: 1.0, 2: 1.9, 4: 3.6, 8: 6.5},
        labels={"team": chance.choice("abcd")},
    )
    return Job(
        id=f"past{number:06d}",
        number=0,
        revision=0,
        spec=spec,
        owner=chance.choice(OWNERS),
        phase=end,
        submitted_at=at,
        started_at=at + 60,
        ended_at=at + chance.uniform(600, 36_000),
        curve=spec.curve,
        progress=Progress(left=0.0, as_of=at),
    )


def _add(tx: Tx, jobs: list[Job]) -> None:
    for job in jobs:
        tx.add_job(job)
        tx.add_event(Event(kind="submitted", at=job.submitted_at, actor=job.owner, job=job.id))
        for at, after in ((job.started_at, "node-0001:2"), (job.ended_at, "")):
            tx.add_event(
                Event(kind="scaled", at=at or 0.0, actor="policy:elasticflow", job=job.id, after=after)
            )


@contextmanager
def a_town(home: Path, jobs: int, nodes: int) -> Iterator[Served]:
    """A server with this past, and nodes of eight GPUs that tell what they do; gone at the end."""
    fill(home, jobs)
    with a_server(home, nodes, SLOTS) as served:
        way_in = Address(served.address.url, (home / "node-token").read_text().strip())
        stop = threading.Event()
        told = threading.Thread(target=lambda: asyncio.run(_tell(way_in, nodes, stop)), daemon=True)
        told.start()
        try:
            yield served
        finally:
            stop.set()
            told.join()


async def _tell(address: Address, nodes: int, stop: threading.Event) -> None:
    kinds = [samples(random.Random(seed), 0.0, 1)[0] for seed in range(16)]
    while not stop.is_set():
        connection, begun = await Connection.open(address), time.monotonic()
        for node in range(nodes):
            now = time.time()
            sample = replace(kinds[node % len(kinds)], at=round(now, 3))
            name = f"node-{node:04d}"
            told = Samples(node=name, session=name, samples=(sample,), sent_at=now)
            await connection.ask("POST", f"{PREFIX}/samples", encode(told))
            if stop.is_set():
                break
        await connection.close()
        await asyncio.to_thread(stop.wait, max(SAMPLE_EVERY - (time.monotonic() - begun), 0.1))
