"""What a machine is doing, as its kernel tells it: processors, load, memory, disks and network.

Read from /proc and /sys without any library: it is done every second for as long as a node lives, in a process that
must hardly be there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from tenuto.monitor.disks import Disks
from tenuto.monitor.nets import Nets
from tenuto.monitor.proc import HERE, Places, read
from tenuto.wire.sample import DiskSample, NetSample

Ticks: TypeAlias = tuple[int, int]
"""Of one processor since the machine was started: those with work, and all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """Bytes of RAM and swap; what programs could have at once counts as free, as caches do."""

    ram_used: int | None = None
    ram_total: int | None = None
    swap_used: int | None = None
    swap_total: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineView:
    """A machine at one moment, without its GPUs."""

    cpu: float | None
    cores: tuple[float | None, ...]
    load: float | None
    memory: Memory
    disks: tuple[DiskSample, ...]
    nets: tuple[NetSample, ...]


class Machine:
    """The machine that this process runs on. Shares and flows are those of the time since the look before."""

    def __init__(self, places: Places = HERE) -> None:
        self._proc = places.proc
        self._before: dict[int | None, Ticks] = {}
        self._disks = Disks(places)
        self._nets = Nets(places)

    def look(self, now: float) -> MachineView:
        """`now` is of a clock that nobody sets."""
        ticks = ticks_in(read(f"{self._proc}/stat"))
        shares = {core: _share(self._before.get(core), new) for core, new in ticks.items()}
        self._before = ticks
        cpu = shares.pop(None, None)
        count = max((core for core in shares if core is not None), default=-1) + 1
        return MachineView(
            cpu=cpu,
            cores=tuple(shares.get(core) for core in range(count)),
            load=load_in(read(f"{self._proc}/loadavg")),
            memory=memory_in(read(f"{self._proc}/meminfo")),
            disks=self._disks.look(now),
            nets=self._nets.look(now),
        )


def ticks_in(stat: bytes) -> dict[int | None, Ticks]:
    """Of each processor by its number, and of all together under None, in the words of /proc/stat."""
    found: dict[int | None, Ticks] = {}
    for line in stat.splitlines():
        if not line.startswith(b"cpu"):
            break  # the rest is long, and about something else
        name, *told = line.split()
        user, nice, system, idle, waiting, *others = (int(one) for one in told[:8])  # guests are in user's
        busy = user + nice + system + sum(others)
        found[int(name[3:]) if name[3:] else None] = (busy, busy + idle + waiting)
    return found


def _share(before: Ticks | None, new: Ticks) -> float | None:
    """Percent of the time between; None if there was none. The kernel's counts of waiting may go back a little."""
    if before is None or new[1] <= before[1]:
        return None
    return round(min(max(100 * (new[0] - before[0]) / (new[1] - before[1]), 0.0), 100.0), 1)


def load_in(loadavg: bytes) -> float | None:
    """The mean of the last minute in the words of /proc/loadavg."""
    words = loadavg.split()
    return float(words[0]) if words else None


def memory_in(meminfo: bytes) -> Memory:
    """In the words of /proc/meminfo."""
    told: dict[bytes, int] = {}
    for line in meminfo.splitlines():
        name, _, amount = line.partition(b":")
        told[name] = int(amount.split()[0]) * 1024
    total, available = told.get(b"MemTotal"), told.get(b"MemAvailable")
    swap, swap_free = told.get(b"SwapTotal"), told.get(b"SwapFree")
    return Memory(
        ram_used=None if total is None or available is None else total - available,
        ram_total=total,
        swap_used=None if swap is None or swap_free is None else swap - swap_free,
        swap_total=swap,
    )
