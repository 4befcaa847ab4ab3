"""GPUs that are none: a stand-in for the driver's library, compiled here, that tells what a test wants told.

    gpus = Gpus(tmp_path / "드라이버")
    gpus.show(*some_gpus(4))                                   # before or while anybody looks
    subprocess.Popen(…, env={**os.environ, **gpus.environment})  # a process that finds them through NVML
    gpus.change(2, lost=True)                                  # from the next call on
    gpus.change(0, utilisation=80, processes=(Process(pid, 2 << 30),))

A value of None is one that the GPU does not support. In the test's own process `gpus.in_this_process(monkeypatch)`
puts the library under pynvml, which finds it by LD_LIBRARY_PATH everywhere else.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any

import pytest

SOURCE = Path(__file__).with_name("nvml.c")
LIBRARY = "libnvidia-ml.so.1"
GIB = 1 << 30
_VALUES = ("utilisation", "memory_used", "memory_total", "power", "power_limit", "temperature", "fan")


@dataclass(frozen=True)
class Process:
    """Somebody who uses a GPU."""

    pid: int
    memory: int | None = None


@dataclass(frozen=True)
class Gpu:
    """One GPU as the driver tells of it. Bytes, percent, degrees Celsius, milliwatts: NVML's units."""

    name: str = "Test GPU"
    uuid: str = "GPU-00000000"
    utilisation: int | None = 0
    memory_used: int | None = 0
    memory_total: int | None = 16 * GIB
    power: int | None = 60_000
    power_limit: int | None = 300_000
    temperature: int | None = 40
    fan: int | None = 30
    processes: tuple[Process, ...] | None = ()
    graphics: tuple[Process, ...] = ()
    lost: bool = False

    def lines(self) -> Iterator[str]:
        """As the library reads them."""
        yield f"gpu {self.name}"
        yield f"uuid {self.uuid}"
        yield from (f"{key} {getattr(self, key)}" for key in _VALUES if getattr(self, key) is not None)
        if self.processes is None:
            yield "hides_processes"
        for kind, told in (("compute", self.processes or ()), ("graphics", self.graphics)):
            yield from (f"{kind} {one.pid} {-1 if one.memory is None else one.memory}" for one in told)
        if self.lost:
            yield "lost"


@dataclass(frozen=True)
class Driver:
    """What is true of all GPUs together."""

    gpus: tuple[Gpu, ...] = ()
    version: str = "580.95.05"
    refuses_to_start: int = 0
    """The code that nvmlInit answers with, as 9 for a driver that is not loaded or 18 for another version."""
    fails: int = 0
    """The code that everything else answers with."""
    hangs: bool = False
    """Calls wait until this is over."""
    crashes: bool = False
    """The next call ends the process that makes it."""
    session: int = 0
    """Whoever started under another number is told that he did not start."""

    def text(self) -> str:
        """As the library reads it."""
        numbers = ("refuses_to_start", "fails", "session")
        lines = [f"driver {self.version}", *(f"{key} {getattr(self, key)}" for key in numbers)]
        lines += [key for key in ("hangs", "crashes") if getattr(self, key)]
        for gpu in self.gpus:
            lines += gpu.lines()
        return "\n".join(lines) + "\n"


def some_gpus(number: int) -> tuple[Gpu, ...]:
    """So many GPUs, each with values of its own."""
    return tuple(
        Gpu(
            uuid=f"GPU-{index:08x}",
            utilisation=10 * index % 100,
            memory_used=index * GIB % (16 * GIB),
            power=60_000 + 1_000 * index,
            temperature=40 + index,
            fan=30 + index,
        )
        for index in range(number)
    )


@cache
def _compiled() -> bytes:
    """The library; it takes a tenth of a second, once in a process."""
    with tempfile.TemporaryDirectory() as directory:
        target = Path(directory) / LIBRARY
        subprocess.run(["gcc", "-O1", "-Wall", "-shared", "-fPIC", "-o", target, SOURCE], check=True)
        return target.read_bytes()


@dataclass
class Gpus:
    """The library in a directory of its own, and the file that it reads."""

    directory: Path
    driver: Driver = Driver()
    _changes: Iterator[int] = field(default_factory=lambda: count(1), repr=False)

    def __post_init__(self) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        (self.directory / LIBRARY).write_bytes(_compiled())
        self._tell()

    @property
    def environment(self) -> dict[str, str]:
        """With this, a process finds the library and the GPUs."""
        others = os.environ.get("LD_LIBRARY_PATH")
        path = str(self.directory) if not others else f"{self.directory}:{others}"
        return {"LD_LIBRARY_PATH": path, "TEST_GPUS": str(self._file)}

    @property
    def _file(self) -> Path:
        return self.directory / "gpus.txt"

    def show(self, *gpus: Gpu) -> None:
        """These are the GPUs from now on."""
        self.behave(gpus=gpus)

    def change(self, index: int, **changes: Any) -> None:
        """One GPU is different from now on."""
        gpus = list(self.driver.gpus)
        gpus[index] = replace(gpus[index], **changes)
        self.show(*gpus)

    def behave(self, **changes: Any) -> None:
        """The driver is different from now on; see `Driver`."""
        self.driver = replace(self.driver, **changes)
        self._tell()

    def in_this_process(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Put the library under this process's pynvml, and that of its children, for the length of a test."""
        import pynvml

        for name, value in self.environment.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(pynvml, "nvmlLib", ctypes.CDLL(str(self.directory / LIBRARY)))
        monkeypatch.setattr(pynvml, "_nvmlGetFunctionPointer_cache", {})

    def _tell(self) -> None:
        """Replace the file at once, with a time of change that is later than any before."""
        new = self.directory / "new.txt"
        new.write_text(self.driver.text(), encoding="utf-8")
        moment = 1_000_000_000_000_000_000 + 1_000_000 * next(self._changes)
        os.utime(new, ns=(moment, moment))
        new.replace(self._file)
