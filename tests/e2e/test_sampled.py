"""A node with four GPUs, as its sampler tells of it: without any job, with two, with a GPU that is lost and returns."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest
from tests.e2e.gpus import GpuPlatform
from tests.e2e.jobs import FOREVER, a_job
from tests.e2e.platform import Json, eventually
from tests.nvml.gpus import GIB, Process, some_gpus

from tenuto.errors import NotFound


@pytest.fixture
def platform(tmp_path: Path) -> Iterator[GpuPlatform]:
    config = tmp_path / "설정.yaml"
    config.write_text("monitor: {period: 0.2, upload: 0.2}\n", encoding="utf-8")
    made = GpuPlatform(tmp_path / "platform", "--config", str(config))
    made.gpus.show(*some_gpus(4))
    try:
        made.up()
        yield made
        made.down()
        made.leaves_nothing()
    finally:
        made.end()


def sampled(platform: GpuPlatform, wanted: Callable[[Json], bool], what: str) -> Json:
    """The first sample that is as wanted."""

    def look() -> Json | None:
        with platform.client(patience=10.0) as client, suppress(NotFound):  # not joined, or not sampled yet
            sample: Json = client.node_sample("node-0")["sample"]
            return sample if wanted(sample) else None
        return None

    return eventually(look, what)


def samplers(platform: GpuPlatform) -> list[int]:
    return [one.pid for one in platform.processes() if "tenuto.monitor.sampler" in _command(one)]


def _command(process: psutil.Process) -> list[str]:
    try:
        words: list[str] = process.cmdline()
    except psutil.Error:
        return []
    return words


def users(sample: Json) -> list[list[tuple[str, str]]]:
    """The job and the worker of everybody who uses each GPU."""
    return [[(one["job"], one["worker"]) for one in gpu["processes"] or ()] for gpu in sample["gpus"]]


def test_a_node_is_sampled_once_whoever_trains_there_and_whatever_becomes_of_its_gpus(
    platform: GpuPlatform,
) -> None:
    # A busy machine may need some samples until the driver has answered.
    sample = sampled(platform, lambda told: told["driver"] is not None, "a sample without any job")
    before = samplers(platform)
    assert [gpu["utilisation"] for gpu in sample["gpus"]] == [0, 10, 20, 30]
    assert sample["ram_total"] and sample["cores"]

    with platform.client(patience=10.0) as client:
        jobs = [client.submit(a_job(name, FOREVER))["id"] for name in ("하나", "two")]
    for job in jobs:
        platform.wait_for(job, "running")
    eventually(lambda: len(platform.workers()) == 2, "both jobs have a worker")
    workers = platform.workers()
    mine = [next((name, one.pid) for name, one in workers.items() if name.startswith(job)) for job in jobs]
    platform.gpus.change(0, processes=tuple(Process(pid, GIB) for _, pid in mine))
    platform.gpus.change(2, lost=True)

    def is_new(told: Json) -> bool:
        return bool(told["gpus"][2]["lost"] and told["gpus"][0]["processes"])

    sample = sampled(platform, is_new, "a GPU is lost, and another one is used")
    expected = sorted((job, worker) for job, (worker, _) in zip(jobs, mine, strict=True))
    assert [sorted(told) for told in users(sample)] == [expected, [], [], []]
    assert (sample["gpus"][2]["uuid"], sample["gpus"][2]["utilisation"]) == ("GPU-00000002", None)
    assert len(before) == 1
    assert samplers(platform) == before

    platform.gpus.change(2, lost=False, utilisation=64)
    sampled(platform, lambda told: told["gpus"][2]["utilisation"] == 64, "the GPU has returned")
