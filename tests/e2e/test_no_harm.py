"""Monitoring never harms training: whatever breaks, a real training ends with the same weights and all its numbers."""

from __future__ import annotations

import json
import os
import re
import resource
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from textwrap import dedent

import psutil
import pytest
from tests.e2e.gpus import GpuPlatform
from tests.e2e.platform import HANG, Json, eventually
from tests.nvml.gpus import some_gpus

STEPS = 40
TRAINING = """
    import hashlib, pathlib, time, torch, tenuto
    from torch.utils.data import TensorDataset

    def wait_for_leave(step):
        while step >= int((here / "limit").read_text()):
            time.sleep(0.01)

    here = pathlib.Path(__file__).parent
    torch.manual_seed(7)
    run = tenuto.init()
    data = TensorDataset(torch.randn(64, 4), torch.randn(64, 1))
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    model, optimizer, batches = run.elastic(model, optimizer, data, global_batch=16, epochs=10)
    for x, y in batches:
        wait_for_leave(batches.step)
        loss = ((model(x) - y) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        run.report(損失=loss)
    tensors = [tensor.detach().numpy().tobytes() for tensor in model.state_dict().values()]
    print("weights", hashlib.sha256(b"".join(tensors)).hexdigest(), flush=True)
    run.finish(model)
"""
SETTINGS = """
nodes: {{timeout: 90}}
monitor: {{period: 0.1, upload: 0.1}}
influx: {{url: 'http://127.0.0.1:{port}'}}
"""
QUIET = {"OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"}


class Training:
    """A script that trains up to a step and waits there until it is let on; the same alone and on a platform."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir()
        self._directory = directory
        self._script = directory / "훈련.py"
        self._script.write_text(dedent(TRAINING), encoding="utf-8")
        self.let_on(0)

    def let_on(self, step: int) -> None:
        new = self._directory / "limit.new"
        new.write_text(str(step))
        new.replace(self._directory / "limit")

    @property
    def environment(self) -> dict[str, str]:
        cache = str(self._directory / "torch")  # else torch leaves one among others' files
        return {**QUIET, "TENUTO_LOG_DIR": str(self._directory / "log"), "TORCHINDUCTOR_CACHE_DIR": cache}

    def alone(self) -> str:
        """The weights that it ends with if nobody watches it."""
        self.let_on(STEPS)
        others = {name: value for name, value in os.environ.items() if not name.startswith("TENUTO_")}
        done = subprocess.run(
            [sys.executable, self._script],
            env={**others, **self.environment},
            cwd=self._directory,
            capture_output=True,
            text=True,
            timeout=HANG,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return weights_in(done.stdout)

    def submit(self, platform: GpuPlatform) -> str:
        job = {
            "name": "훈련",
            "run": [sys.executable, str(self._script)],
            "strategy": "allreduce",
            "workdir": str(self._directory),
            "env": self.environment,
            "total": {"steps": STEPS},
        }
        with platform.client(patience=10.0) as client:
            return str(client.submit(job)["id"])

    def told_here(self) -> list[Json]:
        """What the worker has written down by itself."""
        logs = list((self._directory / "log").glob("*.jsonl"))
        return [json.loads(line) for log in logs for line in log.read_text(encoding="utf-8").splitlines()]

    def has_told(self, step: int) -> bool:
        return any(record["step"] >= step for record in self.told_here())


def weights_in(printed: str) -> str:
    [found] = re.findall(r"^weights (\w+)$", printed, re.MULTILINE)
    return str(found)


@pytest.fixture
def platform(tmp_path: Path) -> Iterator[GpuPlatform]:
    """Sampled ten times a second, over a driver of two GPUs, with a database that is not there."""
    with socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))  # and does not listen
        settings = tmp_path / "設定.yaml"
        settings.write_text(SETTINGS.format(port=nobody.getsockname()[1]), encoding="utf-8")
        made = GpuPlatform(tmp_path, "--config", str(settings))
        made.gpus.show(*some_gpus(2))
        try:
            made.up()
            yield made
            made.down()
            made.leaves_nothing()
        finally:
            made.end()


def those(platform: GpuPlatform, module: str) -> set[int]:
    """The processes that run this module now."""
    found = set()
    for process in platform.processes():
        with suppress(psutil.NoSuchProcess):  # it ends while somebody looks
            if module in process.cmdline():
                found.add(process.pid)
    return found


def samplers(platform: GpuPlatform) -> set[int]:
    """Who samples now."""
    return those(platform, "tenuto.monitor.sampler")


def restart_supervisor(platform: GpuPlatform) -> None:
    """Kill it; the next one finds its workers again, although it cannot ask for GPUs."""

    def supervisors() -> set[int]:
        return those(platform, "tenuto.engines.supervisor")

    eventually(lambda: len(supervisors()) == 1, "there is one supervisor")
    [killed] = supervisors()
    psutil.Process(killed).kill()
    eventually(lambda: supervisors() - {killed}, "there is another supervisor")


def lock_history(platform: GpuPlatform) -> None:
    """Let no server open the history of numbers any more."""
    for part in platform.home.glob("metrics.db*"):
        part.unlink()
    (platform.home / "metrics.db").mkdir()


@contextmanager
def a_full_disk(platform: GpuPlatform) -> Iterator[None]:
    """No file of the server may grow."""
    assert platform.server is not None
    server = psutil.Process(platform.server.pid)
    server.rlimit(resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
    try:
        yield
    finally:
        server.rlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def test_whatever_breaks_around_a_training_it_ends_as_if_nothing_had_been(
    platform: GpuPlatform, tmp_path: Path
) -> None:
    weights = Training(tmp_path / "혼자").alone()
    training = Training(tmp_path / "훈련")
    sampling = eventually(lambda: samplers(platform), "the node is sampled")
    job = training.submit(platform)
    training.let_on(5)
    platform.wait_for(job, "running")

    platform.gpus.behave(crashes=True)
    with a_full_disk(platform):
        eventually(lambda: not samplers(platform) & sampling, "the sampler has died of its driver")
        training.let_on(15)
        eventually(lambda: training.has_told(10), "training goes on although nothing can be written down")
    platform.gpus.behave(crashes=False, hangs=True)
    restart_supervisor(platform)
    training.let_on(25)
    eventually(lambda: training.has_told(20), "training goes on although the driver hangs")
    platform.kill()
    lock_history(platform)
    training.let_on(35)
    eventually(lambda: training.has_told(30), "training goes on without a server")
    platform.gpus.behave(hangs=False)
    platform.up()
    training.let_on(STEPS)

    platform.wait_for(job, "succeeded")
    with platform.client(patience=10.0) as client:
        assert (
            weights_in("".join(part["text"] for part in client.logs(job, limit=1 << 20)["parts"])) == weights
        )
        assert client.job(job)["restarts"] == {"failures": 0, "losses": 0}
        eventually(lambda: client.events(job=job, kind="summary")["items"], "the summary has come")
        [series] = client.metrics(job)["series"]
    assert [point["step"] for point in series["points"]] == [10, 20, 30, 40], (
        "the server has each number once"
    )
    told = training.told_here()
    assert [record["seq"] for record in told] == list(range(len(told))), "the worker's log has no gap"
    assert [record["step"] for record in told if record["kind"] == "step"] == [10, 20, 30, 40]
