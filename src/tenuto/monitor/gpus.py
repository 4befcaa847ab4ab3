"""What each GPU is doing, as NVIDIA's driver tells it through one session that stays open.

Opening a session may take a second and wake the GPUs, so it is done once, and again only if the driver is lost, if a
GPU is, or if there are others than before. Every value is asked for by itself: what a GPU does not support is None.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from tenuto.monitor.whose import Whose
from tenuto.nvml import load, text
from tenuto.wire.sample import GpuProcess, GpuSample

TRY_AGAIN = 10.0
"""Seconds between two attempts to reach a driver that does not answer."""
LOOK_FOR_LOST = 60.0
"""Seconds between two sessions while a GPU is lost; those of the others go on."""
LOOK_FOR_LIBRARY = 60.0
"""Seconds between two looks for a library that is not there."""
DEVICES = "/proc/driver/nvidia/gpus"
"""What the driver has to do with; a session knows only what was there when it began."""
_MOST_PROCESSES = 128


class _Lost(Exception):
    """A GPU is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuView:
    """All GPUs of a machine at one moment; see `NodeSample` for what the fields mean."""

    gpus: tuple[GpuSample, ...] = ()
    problem: str | None = None
    driver: str | None = None


class Gpus:
    """The GPUs of this machine, and those that were: whoever is lost is told of until it returns."""

    def __init__(self, whose: Whose, load: Callable[[], Any] = load, devices: str = DEVICES) -> None:
        self._whose = whose
        self._load = load
        self._devices = devices
        self._nvml: Any = None
        self._open = False
        self._due = 0.0
        """When a session is to be opened, or another one for the sake of lost GPUs."""
        self._listed: tuple[str, ...] = ()
        self._view = GpuView()
        self._count = 0
        self._reached: dict[int, tuple[Any, GpuSample]] = {}
        """The handle of each GPU, and who it is."""
        self._known: dict[str, GpuSample] = {}
        """All GPUs that there ever were, as they are told of when they are lost."""

    def look(self, now: float) -> GpuView:
        """`now` is of a clock that nobody sets."""
        if self._open and self._should_begin_anew(now):
            self.close()
        if not self._open and now >= self._due:
            self._begin(now)
        if self._open:
            try:
                self._view = replace(self._view, gpus=self._ask_all(now), problem=None)
            except self._nvml.NVMLError as error:
                self._lose(error, now)
        return self._view

    def close(self) -> None:
        """End the session, if there is one."""
        self._reached.clear()
        if self._open:
            self._open = False
            try:
                self._nvml.nvmlShutdown()
            except self._nvml.NVMLError:
                return  # there was nothing left to end

    def _should_begin_anew(self, now: float) -> bool:
        """A lost GPU may be found by another session only, and so may be a new one."""
        if _entries(self._devices) != self._listed:
            self._due = now
            return True
        return now >= self._due and any(gpu.lost for gpu in self._view.gpus)

    def _begin(self, now: float) -> None:
        self._nvml = self._nvml or self._load()
        if self._nvml is None:
            self._due = now + LOOK_FOR_LIBRARY
            return
        self._listed = _entries(self._devices)
        self._due = now + LOOK_FOR_LOST
        try:
            self._nvml.nvmlInit()
            self._open = True
            self._view = replace(self._view, driver=text(self._nvml.nvmlSystemGetDriverVersion()))
        except self._nvml.NVMLError_LibraryNotFound:
            self._due = now + LOOK_FOR_LIBRARY
        except self._nvml.NVMLError as error:
            self._lose(error, now)

    def _lose(self, error: Exception, now: float) -> None:
        """The driver does not answer. Whoever asked again at once would only keep it busy."""
        self._due = now + TRY_AGAIN
        self.close()
        problem = f"the driver of the GPUs does not answer: {str(error).rstrip('.')}"
        self._view = replace(self._view, gpus=_numbered(self._known, []), problem=problem)

    def _ask_all(self, now: float) -> tuple[GpuSample, ...]:
        count = self._nvml.nvmlDeviceGetCount()
        if count != self._count:
            self._reached.clear()  # they may have other numbers now
            self._count = count
        told = [self._ask(index, now) for index in range(count)]
        if any(gpu.lost for gpu in told) and not any(gpu.lost for gpu in self._view.gpus):
            self._due = now + LOOK_FOR_LOST
        self._whose.forget_all_but({one.pid for gpu in told for one in gpu.processes or ()})
        return _numbered(self._known, told)

    def _ask(self, index: int, now: float) -> GpuSample:
        try:
            if index not in self._reached:
                self._reached[index] = self._reach(index)
            handle, gpu = self._reached[index]
            return replace(gpu, **self._values(handle), processes=self._processes(handle, now))
        except _Lost:
            self._reached.pop(index, None)
            lost = GpuSample(index=index, lost=True)
            return next((gpu for gpu in reversed(self._known.values()) if gpu.index == index), lost)

    def _reach(self, index: int) -> tuple[Any, GpuSample]:
        """Have a GPU's handle, and find out who it is."""
        nvml = self._nvml
        handle = self._told(nvml.nvmlDeviceGetHandleByIndex, index)
        if handle is None:
            raise _Lost
        uuid, name = self._told(nvml.nvmlDeviceGetUUID, handle), self._told(nvml.nvmlDeviceGetName, handle)
        gpu = GpuSample(index=index, uuid=uuid and text(uuid), name=name and text(name))
        key = gpu.uuid or f"#{index}"
        self._known.pop(key, None)
        self._known[key] = replace(gpu, lost=True)  # behind all others: whoever was last here has the number
        return handle, gpu

    def _values(self, handle: Any) -> dict[str, Any]:
        nvml, told = self._nvml, self._told
        rates = told(nvml.nvmlDeviceGetUtilizationRates, handle)
        # without what the driver keeps for itself, if it can tell the two apart
        memory = told(nvml.nvmlDeviceGetMemoryInfo, handle, nvml.nvmlMemory_v2)
        memory = memory or told(nvml.nvmlDeviceGetMemoryInfo, handle)
        power = told(nvml.nvmlDeviceGetPowerUsage, handle)
        limit = told(nvml.nvmlDeviceGetEnforcedPowerLimit, handle)
        return {
            "utilisation": None if rates is None else rates.gpu,
            "memory_used": None if memory is None else memory.used,
            "memory_total": None if memory is None else memory.total,
            "power": None if power is None else power / 1000,
            "power_limit": None if limit is None else limit / 1000,
            "temperature": self._temperature(handle),
            "fan": told(nvml.nvmlDeviceGetFanSpeed, handle),
        }

    def _temperature(self, handle: Any) -> float | None:
        """By the older way, or by the one that is to replace it."""
        for name in ("nvmlDeviceGetTemperature", "nvmlDeviceGetTemperatureV"):
            ask = getattr(self._nvml, name, None)
            told: float | None = ask and self._told(ask, handle, self._nvml.NVML_TEMPERATURE_GPU)
            if told is not None:
                return told
        return None

    def _processes(self, handle: Any, now: float) -> tuple[GpuProcess, ...] | None:
        """Those that compute and those that draw; some do both, and are told of twice."""
        nvml = self._nvml
        asked = (nvml.nvmlDeviceGetComputeRunningProcesses, nvml.nvmlDeviceGetGraphicsRunningProcesses)
        lists = [found for found in (self._told(one, handle) for one in asked) if found is not None]
        if not lists:
            return None
        memory = {one.pid: one.usedGpuMemory for found in reversed(lists) for one in found}
        return tuple(self._process(pid, memory[pid], now) for pid in sorted(memory)[:_MOST_PROCESSES])

    def _process(self, pid: int, memory: int | None, now: float) -> GpuProcess:
        owner = self._whose.of(pid, now)
        return GpuProcess(
            pid=pid, name=owner.name, user=owner.user, memory=memory, job=owner.job, worker=owner.worker
        )

    def _told(self, ask: Callable[..., Any], *what: Any) -> Any:
        """The driver's answer; None if it has none. That the GPU or the driver itself is gone is raised."""
        nvml = self._nvml
        try:
            return ask(*what)
        except nvml.NVMLError as error:
            if error.value in (nvml.NVML_ERROR_GPU_IS_LOST, nvml.NVML_ERROR_RESET_REQUIRED):
                raise _Lost from error
            if error.value in (nvml.NVML_ERROR_UNINITIALIZED, nvml.NVML_ERROR_DRIVER_NOT_LOADED):
                raise
            return None


def _entries(directory: str) -> tuple[str, ...]:
    try:
        return tuple(sorted(os.listdir(directory)))
    except OSError:
        return ()


def _numbered(known: dict[str, GpuSample], told: list[GpuSample]) -> tuple[GpuSample, ...]:
    """Everybody who is told of, and everybody else who is known, with a number that nobody has.

    A session that begins without a lost GPU numbers the others anew.
    """
    here = {gpu.uuid for gpu in told}
    taken = {gpu.index for gpu in told}
    everybody = list(told)
    for gpu in known.values():
        if gpu.uuid in here:
            continue
        index = gpu.index
        while index in taken:
            index += 1
        taken.add(index)
        everybody.append(replace(gpu, index=index))
    return tuple(sorted(everybody, key=lambda gpu: gpu.index))
