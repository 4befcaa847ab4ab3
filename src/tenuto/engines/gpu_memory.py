"""How much of each GPU's memory is in use, looked at now and then in a thread of its own: drivers take their time."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from tenuto import nvml
from tenuto.model.node import Slot

log = logging.getLogger(__name__)
Parts: TypeAlias = tuple[float | None, ...]
"""The part that is in use of each slot's memory, from 0 to 1; None where nobody can tell."""

LOOKS_EVERY = 2.0
"""Seconds between two looks."""
NOTICEABLE = 0.02
"""A part of the memory that is worth telling."""


class MemoryWatch:
    """The memory of a node's slots as it was last seen. A node without GPUs is not looked at."""

    def __init__(
        self,
        slots: Sequence[Slot],
        read: Callable[[Sequence[str]], Parts] | None = None,
        every: float = LOOKS_EVERY,
    ) -> None:
        """`read` tells of devices, which CUDA_VISIBLE_DEVICES would name so; NVML does if nobody else is given."""
        self._devices = [slot.device for slot in slots]
        self._read = read or nvml_parts
        self._every = every
        self._ended = threading.Event()
        self.parts: Parts = ()

    def start(self, changed: Callable[[], None]) -> None:
        """Look from now on; `changed` is called from another thread when there is something to tell."""
        if any(self._devices):
            threading.Thread(target=self._watch, args=(changed,), daemon=True, name="gpu-memory").start()

    def end(self) -> None:
        """Look no more."""
        self._ended.set()

    def _watch(self, changed: Callable[[], None]) -> None:
        while not self._ended.is_set():
            parts = self._look()
            if _differ(parts, self.parts):
                self.parts = parts
                changed()
            self._ended.wait(self._every)

    def _look(self) -> Parts:
        try:
            return self._read(self._devices)
        except Exception:
            log.exception("the memory of the GPUs cannot be read; the supervisor goes on")
            return (None,) * len(self._devices)


def _differ(new: Parts, old: Parts) -> bool:
    """Whether the difference is worth telling."""
    if len(new) != len(old):
        return True
    return any(
        (one is None) != (other is None)
        or (one is not None and other is not None and abs(one - other) >= NOTICEABLE)
        for one, other in zip(new, old, strict=True)
    )


def nvml_parts(devices: Sequence[str]) -> Parts:
    """What NVML tells of these devices; of those that are no GPUs, and if something is wrong, nothing."""
    try:
        with nvml.session() as driver:
            return tuple(_part(driver, device) for device in devices)
    except nvml.NoDriver:
        return (None,) * len(devices)


def _part(driver: Any, device: str) -> float | None:
    if not device.isdecimal():
        return None
    try:
        memory = driver.nvmlDeviceGetMemoryInfo(driver.nvmlDeviceGetHandleByIndex(int(device)))
    except driver.NVMLError:
        return None
    return min(memory.used / memory.total, 1.0) if memory.total else None
