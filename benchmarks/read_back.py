"""What it costs to read a record back before it is stored, as a ratio: with the read-back over without it.

    python benchmarks/read_back.py

Both sides are measured by turns in the same process, so that other load on the machine counts for both. Figures are
medians of ratios. A write is a submission as in `benchmarks/store.py`: a job with `params` and its event, durable in
SQLite. Records without a free-form part (most events and jobs without `params`) are not read back at all.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from statistics import median
from typing import Any

from rich.console import Console
from rich.table import Table

from store import a_job
from tenuto.model.event import Event
from tenuto.model.job import Job
from tenuto.store import codec
from tenuto.store.base import Store, Tx
from tenuto.store.open import open_store
from tenuto.store.steps import Record, _written

ROUNDS = 15
SMALL: dict[str, Any] = {"lr": 0.1, "layers": [64, 64, {"dropout": 0.1}], "model": "resnet50", "seed": 17}
LARGE: dict[str, Any] = {f"parameter {number}": [number, number / 3, "wert"] for number in range(1200)}
STEP: Record = {
    "seq": 12,
    "kind": "step",
    "at": 1.8e9,
    "generation": 3,
    "step": 1200,
    "world": 8,
    "rank": 0,
    "seconds": 0.12,
    "samples": 307200.0,
    "samples_per_second": 2133.3,
    "values": {"loss": 0.31, "lr": 0.1},
}


@contextmanager
def without_read_back() -> Iterator[None]:
    """Let codecs write without reading."""
    codecs = (codec.JOB, codec.EVENT)
    kept = [one._free_form for one in codecs]
    for one in codecs:
        one._free_form = lambda _: None  # type: ignore[method-assign,assignment]
    try:
        yield
    finally:
        for one, free_form in zip(codecs, kept, strict=True):
            one._free_form = free_form  # type: ignore[method-assign]


def seconds(work: Callable[[], object], times: int) -> float:
    start = time.perf_counter()
    for _ in range(times):
        work()
    return time.perf_counter() - start


def ratio(work: Callable[[], object], times: int) -> float:
    """Of the time with the read-back to that without it."""

    def plain() -> float:
        with without_read_back():
            return seconds(work, times)

    return median(seconds(work, times) / plain() for _ in range(ROUNDS))


def submission(store: Store, params: dict[str, Any]) -> Callable[[], Job]:
    def act(tx: Tx) -> Job:
        job = a_job()
        tx.add_event(
            Event(kind="submitted", at=job.submitted_at, actor="kim", job=job.id, data={"name": "a"})
        )
        return tx.add_job(replace(job, spec=replace(job.spec, params=params)))

    return lambda: store.write(act)


def main() -> None:
    table = Table("what", "ratio")
    for name, params in (("4 params", SMALL), ("1,200 params, 48 kB", LARGE)):
        job = a_job()
        job = replace(job, spec=replace(job.spec, params=params))
        table.add_row(f"encode a job, {name}", f"{ratio(lambda job=job: codec.JOB.encode(job), 50):.2f}")  # type: ignore[misc]
    event = Event(kind="rescale", at=1.8e9, actor="worker", job="a", data=STEP)
    table.add_row("encode an event with data", f"{ratio(lambda: codec.EVENT.encode(event), 300):.2f}")
    lines = median(
        seconds(lambda: _written(STEP), 1000) / seconds(lambda: json.dumps(STEP).encode(), 1000)
        for _ in range(ROUNDS)
    )
    table.add_row("write a line of a worker's record", f"{lines:.2f}")
    with (
        tempfile.TemporaryDirectory() as directory,
        closing(open_store(f"sqlite:///{directory}/s.sqlite")) as store,
    ):
        for name, params in (("4 params", SMALL), ("1,200 params, 48 kB", LARGE)):
            table.add_row(f"submit durably, {name}", f"{ratio(submission(store, params), 40):.2f}")
    Console().print(table)


if __name__ == "__main__":
    main()
