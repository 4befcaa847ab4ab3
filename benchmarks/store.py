"""How fast the store is: durable writes a second, and how long a round waits for the jobs it decides on.

    python benchmarks/store.py [URL ...]    without one: a SQLite file in a temporary directory

A write is a submission: a job and its event. It counts when the store has said that it is durable. A database
that is named must be empty, and is not afterwards.
"""

from __future__ import annotations

import itertools
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace

from rich.console import Console
from rich.table import Table

from tenuto.model.event import Event
from tenuto.model.job import Job, JobSpec, Progress
from tenuto.model.phase import Phase
from tenuto.store.base import EventQuery, JobQuery, Store, Tx
from tenuto.store.codec import decode_job
from tenuto.store.open import open_store

_numbers = itertools.count()


def a_job() -> Job:
    spec = JobSpec(
        name="이미지 분류",
        run=("/bin/sh", "-c", "python train.py --epochs 90"),
        env={"DATA": "/data/imagenet"},
        max_workers=8,
        curve={1: 3.2, 2: 6.0, 4: 11.0, 8: 18.0},
        labels={"team": "vision"},
    )
    return Job(
        id=f"{next(_numbers):012x}",
        number=0,
        revision=0,
        spec=spec,
        owner="kim",
        submitted_at=time.time(),
        progress=Progress(left=1e5, as_of=time.time()),
        curve=spec.curve,
    )


def submission() -> Callable[[Tx], Job]:
    job = a_job()

    def act(tx: Tx) -> Job:
        tx.add_event(Event(kind="submitted", at=job.submitted_at, actor="kim", job=job.id))
        return tx.add_job(job)

    return act


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def writes_per_second(store: Store, threads: int, each: int) -> float:
    def write() -> None:
        for _ in range(each):
            store.write(submission())

    running = [threading.Thread(target=write) for _ in range(threads)]

    def all_of_them() -> None:
        for thread in running:
            thread.start()
        for thread in running:
            thread.join()

    return threads * each / seconds(all_of_them)


def fill_up_to(store: Store, jobs: int) -> None:
    missing = jobs - len(store.read(lambda tx: tx.live_jobs()))
    for _ in range(0, missing, 500):
        store.write(lambda tx: [tx.add_job(a_job()) for _ in range(500)])


def remove_all(store: Store) -> None:
    def act(tx: Tx) -> None:
        for job in tx.live_jobs():
            tx.remove_job(job.id)

    store.write(act)


def change_some(store: Store, number: int) -> int:
    """The revision before the change."""
    before = store.revision()

    def act(tx: Tx) -> None:
        for job in tx.live_jobs()[:number]:
            tx.put_job(replace(job, phase=Phase.QUEUED))

    store.write(act)
    return before


class Figures:
    """The table of one store."""

    def __init__(self, name: str, table: Table) -> None:
        self._name = name
        self._table = table

    def rate(self, what: str, per_second: float) -> None:
        self._table.add_row(self._name, what, f"{per_second:.0f} /s")

    def time(self, what: str, work: Callable[[], object], repeat: int = 5) -> None:
        """The shortest of several runs."""
        self._table.add_row(self._name, what, f"{min(seconds(work) for _ in range(repeat)) * 1e3:.1f} ms")


def measure(url: str, figures: Figures) -> None:
    open_store(url).close()
    figures.time("open, tables up to date", lambda: open_store(url).close())
    with closing(open_store(url)) as store:
        figures.rate("durable writes, 1 thread", writes_per_second(store, 1, 500))
        figures.rate("durable writes, 50 threads", writes_per_second(store, 50, 60))
        remove_all(store)
        for jobs in (1000, 10_000):
            fill_up_to(store, jobs)
            decode_job.cache_clear()
            measure_reads(store, jobs, figures)


def measure_reads(store: Store, jobs: int, figures: Figures) -> None:
    figures.time(f"live_jobs, {jobs}, first time", lambda: store.read(lambda tx: tx.live_jobs()), repeat=1)
    figures.time(f"live_jobs, {jobs}, again", lambda: store.read(lambda tx: tx.live_jobs()))
    figures.time(f"put_job, 1000 of {jobs}, one commit", lambda: change_some(store, 1000), repeat=1)
    before = change_some(store, 100)
    figures.time(f"jobs_since, 100 of {jobs}", lambda: store.read(lambda tx: tx.jobs_since(before)))
    vision = JobQuery(labels={"team": "vision"})
    figures.time("page of 50, by label", lambda: store.read(lambda tx: tx.jobs(vision)))
    figures.time("last 100 events", lambda: store.read(lambda tx: tx.events(EventQuery(last=True))))
    figures.time("revision", store.revision)


def main() -> None:
    table = Table("store", "what", "figure")
    with tempfile.TemporaryDirectory() as directory:
        for url in sys.argv[1:] or [f"sqlite:///{directory}/store.sqlite"]:
            measure(url, Figures(url.partition(":")[0], table))
    Console().print(table)


if __name__ == "__main__":
    main()
