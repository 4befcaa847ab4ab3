"""The share of one core that the sampler takes: the real program, over a stand-in for the driver's library."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from tests.nvml.gpus import Gpus, Process, some_gpus

SAMPLER = (sys.executable, "-m", "tenuto.monitor.sampler")
WARM_UP = 3
"""Samples that are not counted: imports, and the first look at everything."""


@dataclass(frozen=True)
class Load:
    """What there is to sample."""

    gpus: int = 8
    processes: int = 8
    """On all GPUs together; each is a real process, whose owner and job are looked up."""
    every: float = 1.0

    def __str__(self) -> str:
        return f"{self.gpus} GPUs, {self.processes} processes, every {self.every:g} s"


LOADS = (
    Load(gpus=0, processes=0),
    Load(),
    Load(every=0.25),
    Load(gpus=16, processes=64),
    Load(gpus=16, processes=64, every=0.25),
)


def shares(load: Load, seconds: float, repeat: int = 3) -> list[float]:
    """Processor time by time, in percent of one core, each over so many seconds."""
    with ExitStack() as ends:
        directory = Path(ends.enter_context(tempfile.TemporaryDirectory(prefix="sampler-")))
        gpus = Gpus(directory / "driver")
        users = [ends.enter_context(_somebody(number)) for number in range(load.processes)]
        shown = some_gpus(load.gpus)
        for number, pid in enumerate(users):
            index = number % load.gpus
            more = (*(shown[index].processes or ()), Process(pid, 1 << 30))
            shown = (*shown[:index], replace(shown[index], processes=more), *shown[index + 1 :])
        gpus.show(*shown)
        sampler = ends.enter_context(_sampling(gpus, load.every))
        return [_share(sampler, seconds) for _ in range(repeat)]


@contextmanager
def _somebody(number: int) -> Iterator[int]:
    """A process of a job."""
    mine = {"TENUTO_JOB_ID": f"job{number:07d}", "TENUTO_WORKER": f"job{number:07d}.1.worker.0"}
    started = subprocess.Popen(["sleep", "100000"], env={**os.environ, **mine})
    try:
        yield started.pid
    finally:
        started.kill()
        started.wait()


@contextmanager
def _sampling(gpus: Gpus, every: float) -> Iterator[int]:
    """The sampler, after its first samples; somebody reads what it writes, as the supervisor does."""
    started = subprocess.Popen(
        [*SAMPLER, "--every", str(every)],
        env={**os.environ, **gpus.environment},
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
    )
    try:
        time.sleep(1.0 + WARM_UP * every)
        if started.poll() is not None:
            raise RuntimeError(f"the sampler ended with {started.returncode}")
        yield started.pid
    finally:
        started.kill()
        started.wait()


def _share(pid: int, seconds: float) -> float:
    before, begun = spent(pid), time.monotonic()
    time.sleep(seconds)
    return 100.0 * (spent(pid) - before) / (time.monotonic() - begun)


def spent(pid: int) -> float:
    """Seconds of processor time of all its threads; /proc/PID/stat would count hundredths."""
    threads = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(thread.read_text().split()[0]) for thread in threads) / 1e9


def spread(values: list[float]) -> str:
    """`0.42 (0.40 to 0.45)`: the median, the least and the most."""
    return f"{statistics.median(values):.2f} ({min(values):.2f} to {max(values):.2f})"
