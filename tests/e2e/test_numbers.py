"""Numbers of a platform that runs: a job and its GPU on one axis, whole although the server was killed."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from tests.e2e.gpus import GpuPlatform
from tests.e2e.platform import eventually
from tests.nvml.gpus import some_gpus

from tenuto.errors import NotFound

REPORTING = """
import json, os, time

step = 0
with open(os.environ["TENUTO_REPORT"], "a") as report:
    while True:  # until somebody stops it
        step += 1
        print(json.dumps({"step": step, "потеря": 1 / step}), file=report, flush=True)
        time.sleep(0.6)
"""


@pytest.fixture
def platform(tmp_path: Path) -> Iterator[GpuPlatform]:
    made = GpuPlatform(tmp_path / "платформа", "--nodes", "1")
    made.gpus.show(*some_gpus(2))
    try:
        made.up()
        yield made
        made.down()
        made.leaves_nothing()
    finally:
        made.end()


def moments(platform: GpuPlatform, kind: str, name: str, part: str, value: str) -> dict[float, Any]:
    """The known values of a subject of the last hour, as they came; none before there is such a node."""
    with platform.client(patience=10.0) as client:
        try:
            found = client.numbers(kind, name=name, part=part, since="1h", step="raw")["items"]
        except NotFound:
            return {}
    if not found or value not in found[0]["values"]:
        return {}
    pairs = zip(found[0]["at"], found[0]["values"][value], strict=True)
    return {at: number for at, number in pairs if number is not None}


def drawn(platform: GpuPlatform, job: str) -> set[str]:
    """What has a line of its own."""
    return {line.split()[0] for line in platform.cli("metrics", job).splitlines()}


def test_a_job_and_its_gpu_have_a_history_that_outlives_a_killed_server(
    platform: GpuPlatform, tmp_path: Path
) -> None:
    script = tmp_path / "обучение.py"
    script.write_text(dedent(REPORTING), encoding="utf-8")
    job = {"name": "학습", "run": [sys.executable, str(script)], "workers": 1, "global_batch": 64}
    with platform.client(patience=10.0) as client:
        client.submit(job)

    def losses() -> dict[float, Any]:
        return moments(platform, "job", "학습", "values", "потеря")

    eventually(lambda: len(losses()) >= 5, "it has told five steps")
    eventually(lambda: len(moments(platform, "node", "node-0", "gpu:0", "utilisation")) >= 2, "it is sampled")
    before = losses()
    platform.kill()
    platform.up()
    eventually(lambda: len(losses()) > len(before), "it tells more to the next server")
    eventually(lambda: before.items() <= losses().items(), "what it told before is there again")

    out = tmp_path / "числа.csv"
    platform.cli("metrics", "export", "학습", "--out", str(out))
    with out.open(encoding="utf-8", newline="") as stream:
        told = [float(row["value"]) for row in csv.DictReader(stream) if row["name"] == "потеря"]
    assert told[: len(before)] == sorted(before.values(), reverse=True)
    wanted = {"samples/s", "потеря", "workers", "utilisation", "memory"}
    eventually(lambda: wanted <= drawn(platform, "학습"), "all of it is drawn, once nodes have told it again")
    with platform.client(patience=10.0) as client:
        client.act("학습", "cancel")
