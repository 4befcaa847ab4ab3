"""Jobs on a machine whose GPUs are watched: five lines give graphs, and who sleeps on GPUs is told and shrunk."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.gpus import GpuPlatform
from tests.e2e.jobs import FOREVER, a_job
from tests.e2e.platform import Json, eventually
from tests.examples.test_five_lines import EXAMPLES, difference
from tests.nvml.gpus import Gpu

SETTINGS = """
idle: {after: 1.5, shrink: true}
monitor: {period: 0.2, upload: 0.2}
"""


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GpuPlatform]:
    directory = tmp_path_factory.mktemp("platform")
    config = directory / "설정.yaml"
    config.write_text(SETTINGS, encoding="utf-8")
    made = GpuPlatform(directory, "--config", str(config), "--start-cost", "0.2", "--rescale-cost", "0.2")
    made.gpus.show(Gpu(uuid="GPU-a"), Gpu(uuid="GPU-b"))
    try:
        made.up()
        yield made
        made.down()
        made.leaves_nothing()
    finally:
        made.end()


def of_size(platform: GpuPlatform, job: str, workers: int) -> Json:
    """The job, once it runs with so many workers."""

    def look() -> Json | None:
        found = platform.job(job)
        return found if (found["state"], found["workers"]) == ("running", workers) else None

    return eventually(look, f"the job has {workers} workers")


def told_of(platform: GpuPlatform, kind: str, **which: Any) -> dict[str, set[str]]:
    """The values of each part of what is measured, of which at least one is known."""
    with platform.client(patience=10.0) as client:
        items = client.numbers(kind, **which)["items"]
    return {
        one["part"]: {name for name, values in one["values"].items() if any(v is not None for v in values)}
        for one in items
    }


def test_five_lines_give_graphs_of_the_training_and_of_its_gpu(platform: GpuPlatform, tmp_path: Path) -> None:
    assert sum(line.startswith("+") for line in difference("mlp")) <= 5
    run = [sys.executable, str(EXAMPLES / "mlp" / "train.py"), "--epochs", "3"]
    quiet = {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo", "TORCHINDUCTOR_CACHE_DIR": str(tmp_path)}
    with platform.client(patience=10.0) as client:
        spec = a_job("mlp", run, strategy="allreduce", env=quiet, checkpoint={"dir": str(tmp_path / "ckpt")})
        job = client.submit(spec)["id"]
    platform.wait_for(job, "succeeded")

    told = told_of(platform, "job", name=job, part=["*"])
    assert {"step", "samples_per_second", "workers"} <= told[""]
    assert "loss" in told["values"]
    assert "samples_per_second" in told["node:node-0"]
    [worker] = [part for part in told if part.startswith("worker:")]
    assert {"seconds", "step"} <= told[worker]
    gpus = told_of(platform, "node", name="node-0", part=["gpu:"])
    assert gpus.keys() == {"gpu:0", "gpu:1"}
    assert {"utilisation", "power", "memory_used"} <= gpus["gpu:0"]


def test_a_job_that_sleeps_on_two_gpus_is_told_explained_shrunk_and_grows_when_it_works(
    platform: GpuPlatform,
) -> None:
    with platform.client(patience=10.0) as client:
        job = client.submit(a_job("잠", FOREVER, workers="1..2"))["id"]
        eventually(lambda: client.events(job=job, kind="idle")["items"], "the job is told to be idle")

        found = of_size(platform, job, 1)
        assert found["idle_since"] is not None
        assert found["shrunk"]
        told = client.explain(job)
        assert told["why"] == "idle"
        assert "It was shrunk to 1 worker, its least size, for that" in " ".join(told["sentences"])
        assert "(shrunk)" in platform.cli("ps", "--wide")
        assert "tenuto scale" in platform.cli("explain", job)

        platform.kill()  # what was found out is not forgotten
        platform.up()
        assert of_size(platform, job, 1)["shrunk"]

        for gpu in (0, 1):
            platform.gpus.change(gpu, utilisation=90)
        assert of_size(platform, job, 2)["idle_since"] is None
        assert [event["kind"] for event in client_events(platform, job)] == ["idle", "busy"]


def client_events(platform: GpuPlatform, job: str) -> list[Json]:
    """What was told of its use of GPUs."""
    with platform.client(patience=10.0) as client:
        events = client.events(job=job, limit=500)["items"]
    return [event for event in events if event["kind"] in ("idle", "busy")]
