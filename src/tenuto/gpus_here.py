"""Which GPUs this machine has, asked for in a process of its own: whoever asks a driver that hangs or crashes hangs or
crashes with it. `python -m tenuto.gpus_here` is that process.
"""

from __future__ import annotations

import json
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from tenuto import nvml
from tenuto.errors import Conflict

PATIENCE = 30.0
"""Seconds within which a driver answers; one that has to wake up many GPUs takes its time."""
_ASKS = (sys.executable, "-P", "-m", "tenuto.gpus_here")


class DriverSilent(Conflict):
    """The driver of the GPUs neither answers nor says that it is out of order."""

    code = "driver_silent"


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuHere:
    """One GPU; of one that does not answer there is a problem instead of a name."""

    index: int
    name: str = ""
    memory: int | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GpusHere:
    """A driver and its GPUs; none, and a problem, if it is out of order."""

    driver: str = ""
    gpus: tuple[GpuHere, ...] = ()
    problem: str = ""


def gpus_here(patience: float = PATIENCE) -> GpusHere | None:
    """What the driver tells; None if there is none. Raises DriverSilent if there is no answer within some seconds."""
    if not nvml.is_here():
        return None
    asking = subprocess.Popen(_ASKS, stdout=subprocess.PIPE)  # noqa: S603 - a program of ours
    try:
        told, _ = asking.communicate(timeout=patience)
        if asking.returncode == 0:
            return _read(told)
        why = f"has brought down the process that asked it (exit code {asking.returncode})"
    except subprocess.TimeoutExpired:
        why = f"has not answered within {patience:g} s"
        _give_up(asking)
    raise DriverSilent(
        f"the driver of the GPUs {why}", remedy="See nvidia-smi; with --slots the node offers CPU slots"
    )


def _give_up(asking: subprocess.Popen[bytes]) -> None:
    """End a process, if the driver lets it; nobody waits for that."""
    asking.kill()
    with suppress(subprocess.TimeoutExpired):
        asking.wait(1.0)
    assert asking.stdout
    asking.stdout.close()


def _read(told: bytes) -> GpusHere | None:
    answer = json.loads(told)
    if answer is None:
        return None
    gpus = tuple(GpuHere(**gpu) for gpu in answer.pop("gpus", ()))
    return GpusHere(**answer, gpus=gpus)


def _ask() -> dict[str, Any] | None:
    """As `_read` reads it."""
    if nvml.load() is None:
        return None
    try:
        with nvml.session() as driver:
            gpus = [_gpu(driver, index) for index in range(driver.nvmlDeviceGetCount())]
            return {"driver": nvml.text(driver.nvmlSystemGetDriverVersion()), "gpus": gpus}
    except nvml.NoLibrary:
        return None
    except nvml.NoDriver as error:
        return {"problem": str(error)}


def _gpu(driver: Any, index: int) -> dict[str, Any]:
    try:
        handle = driver.nvmlDeviceGetHandleByIndex(index)
        name = nvml.text(driver.nvmlDeviceGetName(handle))
    except driver.NVMLError as error:
        return {"index": index, "problem": str(error)}
    try:
        memory = driver.nvmlDeviceGetMemoryInfo(handle).total
    except driver.NVMLError:
        memory = None
    return {"index": index, "name": name, "memory": memory}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(_ask()))
