"""The sampler: `python -m tenuto.monitor.sampler --every SECONDS`, a child of a node's supervisor.

It is a process of its own, because drivers hang and crash. It writes one sample as a line of JSON (see `lines`) to
stdout every so many seconds. A number on a line of stdin is another period from then on. When stdin is closed its
supervisor is gone, and so is it, even if a driver does not let it go on.

Light on purpose: it runs for as long as the node does, beside training. Standard library only, and pynvml where there
is a driver.
"""

from __future__ import annotations

import math
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import BinaryIO, Protocol

from tenuto.monitor.gpus import Gpus, GpuView
from tenuto.monitor.in_time import InTime
from tenuto.monitor.lines import encode
from tenuto.monitor.machine import Machine, MachineView
from tenuto.monitor.whose import Whose
from tenuto.wire.sample import NodeSample

FIRST = 0.25
"""Seconds before the first sample at most: shares and flows are those of the time since an earlier look."""
_NICE = 10
_SPEED = 0.5
"""How fast moments go on while the clock, which was set back, has not caught up with them."""


@dataclass(frozen=True, slots=True)
class Clock:
    """What the time is; `steady` is never set, `wall` is what people call the time."""

    steady: Callable[[], float] = time.monotonic
    wall: Callable[[], float] = time.time


REAL = Clock()


class Control(Protocol):
    """Whoever tells a sampler what to do."""

    @property
    def ended(self) -> bool:
        """Whether the sampler is not wanted any more."""

    def wait(self, seconds: float) -> float | None:
        """Wait so long, or until another period is wanted, which is returned then."""


class Moments:
    """The moments of samples, each later than the one before.

    They are the wall clock's. If that is set back, they go on from the last one at half the speed of time until the
    clock has caught up with them.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last = -math.inf
        self._steady = 0.0

    def next(self) -> float:
        """The moment that it is now."""
        steady = self._clock.steady()
        slowed = self._last + max(round(_SPEED * (steady - self._steady), 3), 0.001)
        self._last = round(max(self._clock.wall(), slowed), 3)
        self._steady = steady
        return self._last


class Sampler:
    """Looks at the machine again and again, at the moments of a grid, so that periods do not add up errors."""

    def __init__(
        self,
        machine: Callable[[float], MachineView],
        gpus: Callable[[float], GpuView],
        clock: Clock = REAL,
    ) -> None:
        self._machine = machine
        self._gpus = gpus
        self._clock = clock
        self._moments = Moments(clock)

    def look(self) -> NodeSample:
        """One sample."""
        at, now = self._moments.next(), self._clock.steady()
        machine, gpus = self._machine(now), self._gpus(now)
        return NodeSample(
            at=at,
            cpu=machine.cpu,
            cores=machine.cores,
            load=machine.load,
            ram_used=machine.memory.ram_used,
            ram_total=machine.memory.ram_total,
            swap_used=machine.memory.swap_used,
            swap_total=machine.memory.swap_total,
            disks=machine.disks,
            nets=machine.nets,
            gpus=gpus.gpus,
            gpu_problem=gpus.problem,
            driver=gpus.driver,
        )

    def run(self, period: float, control: Control, tell: Callable[[NodeSample], None]) -> None:
        """Sample until nobody wants it any more. A sample that would be late is left out; none are made up for."""
        self._machine(self._clock.steady())
        due = self._clock.steady() + min(period, FIRST)
        while not control.ended:
            wanted = control.wait(max(due - self._clock.steady(), 0.0))
            now = self._clock.steady()
            if wanted is not None:
                due, period = max(due - period + wanted, now), wanted
            elif now >= due and not control.ended:
                tell(self.look())
                due = after(self._clock.steady(), due, period)


def after(now: float, due: float, period: float) -> float:
    """The first moment after now of the grid that `due` is on; `due` itself has been."""
    return due + period * max(math.floor((now - due) / period) + 1, 1)


class Orders:
    """What a supervisor writes to stdin. It is read in a thread, which goes on while a driver hangs."""

    def __init__(self, stdin: BinaryIO, leave: Callable[[], None]) -> None:
        self._stdin = stdin
        self._leave = leave
        self._periods: SimpleQueue[float] = SimpleQueue()
        self.ended = False
        threading.Thread(target=self._read, daemon=True, name="orders").start()

    def wait(self, seconds: float) -> float | None:
        """Wait so long, or until another period is wanted, which is returned then."""
        try:
            return self._periods.get(timeout=seconds)
        except Empty:
            return None

    def _read(self) -> None:
        for line in iter(self._stdin.readline, b""):
            if (period := period_in(line)) is not None:
                self._periods.put(period)
        self.ended = True
        self._leave()


def period_in(text: bytes | str) -> float | None:
    """Seconds; None for what is no period."""
    try:
        period = float(text)
    except ValueError:
        return None
    return period if 0 < period < math.inf else None


def main(argv: list[str]) -> int:
    """Be the sampler."""
    period = period_in(argv[1]) if argv[:1] == ["--every"] and len(argv) == 2 else None
    if period is None:
        sys.stderr.write("usage: python -m tenuto.monitor.sampler --every SECONDS\n")
        return 2
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # whoever interrupts a terminal means others; stdin tells us
    os.nice(_NICE)
    stdin = open(0, "rb", buffering=0, closefd=False)  # noqa: SIM115 - to the end
    sampler = Sampler(Machine().look, InTime(Gpus(Whose()).look).look)
    try:
        sampler.run(period, Orders(stdin, lambda: os._exit(0)), _write)
    except BrokenPipeError:
        return 0  # nobody reads any more
    return 0


def _write(sample: NodeSample) -> None:
    """A whole line at once; a pipe takes as much as it has room for."""
    line = memoryview(encode(sample))
    while line:
        line = line[os.write(1, line) :]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
