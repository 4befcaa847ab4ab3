"""A platform with GPUs that are none, watched or not, and what its processes take."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, redirect_stdout
from io import StringIO
from pathlib import Path

import psutil
from tests.e2e.gpus import GpuPlatform
from tests.e2e.platform import eventually
from tests.nvml.gpus import some_gpus

from monitoring.sampler_share import spent

GPUS = 8
ROLES = {"tenuto.monitor.sampler": "sampler", "tenuto.engines.supervisor": "supervisor"}


@contextmanager
def a_platform(period: float) -> Iterator[GpuPlatform]:
    """One node with eight GPUs, sampled every so many seconds; 0 for never."""
    with tempfile.TemporaryDirectory(prefix="monitor-") as directory:
        settings = Path(directory) / "settings.yaml"
        settings.write_text(f"monitor: {{period: {period}}}\n", encoding="utf-8")
        made = GpuPlatform(Path(directory), "--config", str(settings))
        made.gpus.show(*some_gpus(GPUS))
        try:
            made.up()
            eventually(lambda: made.decides, "the controller decides")
            yield made
            made.down()
        finally:
            with redirect_stdout(StringIO()):  # it shows the server's log, as a failed test should
                made.end()


def shares(period: float, seconds: float) -> Mapping[str, float]:
    """Percent of one core that each kind of process takes while no job runs."""
    with a_platform(period) as platform:
        time.sleep(5.0)
        before, begun = _spent(platform), time.monotonic()
        time.sleep(seconds)
        after, passed = _spent(platform), time.monotonic() - begun
    return {role: 100.0 * (after[role] - before.get(role, 0.0)) / passed for role in after}


def _spent(platform: GpuPlatform) -> dict[str, float]:
    found: dict[str, float] = {}
    for process in platform.processes():
        role = _role(platform, process)
        found[role] = found.get(role, 0.0) + spent(process.pid)
    return found


def _role(platform: GpuPlatform, process: psutil.Process) -> str:
    if platform.server is not None and process.pid == platform.server.pid:
        return "server"
    line = " ".join(process.cmdline())
    return next((role for name, role in ROLES.items() if name in line), "others")


def pids_of(platform: GpuPlatform, role: str) -> list[int]:
    """The processes of this kind."""
    return [process.pid for process in platform.processes() if _role(platform, process) == role]
