"""How many records of steps go from a worker's spool through supervisor and server, per second.

    python benchmarks/reports.py [--records 20000] [--workers 4]

A server of its own, with its store, in a process of its own; the uploads are those of a supervisor, in this process.
Eight workers that report every tenth of 100 steps a second tell 80 records a second.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.table import Table

from tenuto.client.plain import PlainClient
from tenuto.engines.supervisor.options import SupervisorOptions
from tenuto.engines.supervisor.record_upload import RecordUpload
from tenuto.engines.supervisor.server import Server
from tenuto.wire.spool import Spool
from tenuto.wire.worker import WORKER, WorkerId

UP = (sys.executable, "-m", "tenuto", "up", "--json", "--no-local")


@contextmanager
def a_server(home: Path) -> Iterator[tuple[str, PlainClient]]:
    """A server, and a client of it."""
    environment = {**os.environ, "TENUTO_HOME": str(home)}
    with (home / "log").open("ab") as log:
        process = subprocess.Popen(UP, env=environment, stdout=subprocess.PIPE, stderr=log)
    try:
        assert process.stdout
        url = json.loads(process.stdout.readline())["url"]
        with PlainClient(url, (home / "token").read_text().strip()) as client:
            yield url, client
    finally:
        process.terminate()
        process.wait()


def spooled(directory: Path, records: int) -> float:
    """Write what a worker would tell; returns the seconds it took."""
    spool = Spool(directory)
    begun = time.perf_counter()
    for seq in range(records):
        record = {
            "seq": seq,
            "kind": "step",
            "at": time.time(),
            "generation": 1 + seq // 1000,
            "step": 10 * seq,
            "seconds": 0.01,
            "samples": 640 * seq,
            "samples_per_second": 6400.0,
            "world": 4,
            "rank": 0,
            "values": {"loss": 1.0 / (seq + 1), "accuracy": 0.5},
        }
        spool.write(json.dumps(record).encode() + b"\n")
    return time.perf_counter() - begun


def brought(server: Server, uploads: list[RecordUpload]) -> float:
    """Bring over everything, a turn of each at a time; returns the seconds it took."""
    begun = time.perf_counter()
    while waiting := [upload for upload in uploads if not upload.done]:
        for upload in waiting:
            upload.advance(server, ended=True)
    return time.perf_counter() - begun


def read(client: PlainClient, job: str) -> tuple[float, int]:
    """Read all series; returns the seconds it took, and how many points there were."""
    begun, points = time.perf_counter(), 0
    following: int | None = 0
    while following is not None:
        page = client.metrics(job, from_step=following, limit=5000)
        points += sum(len(series["points"]) for series in page["series"])
        following = page["next"]
    return time.perf_counter() - begun, points


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=20_000)
    parser.add_argument("--workers", type=int, default=4)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as place, a_server(Path(place)) as (url, client):
        home = Path(place)
        job = client.submit({"name": "bench", "run": "true"})["id"]
        server = Server(
            SupervisorOptions(directory=home, node="n", token_file=home / "node-token", server=url)
        )
        server._look_up()
        workers = [WorkerId(job, 1, WORKER, rank) for rank in range(given.workers)]
        wrote = sum(spooled(home / "spools" / str(worker), given.records) for worker in workers)
        uploads = [RecordUpload(worker, "worker", home / "spools" / str(worker)) for worker in workers]
        took = brought(server, uploads)
        looked, points = read(client, job)
    total = given.records * given.workers
    table = Table("what", "records/s", "µs each", box=None)
    for name, count, seconds in (
        ("written to the spool", total, wrote),
        ("through supervisor and server", total, took),
        ("read as series", points, looked),
    ):
        table.add_row(name, f"{count / seconds:,.0f}", f"{1e6 * seconds / count:.1f}")
    Console().print(table)


if __name__ == "__main__":
    main()
