"""What a node is doing at one moment, as its sampler tells it. Standard library only.

Every field is always there; what nobody can tell is None. Shares are percent (0 to 100), amounts are bytes, flows are
bytes a second, power is watts, temperatures are degrees Celsius, moments are Unix seconds.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuProcess:
    """Somebody who uses a GPU."""

    pid: int
    name: str | None = None
    """Its command, without arguments."""
    user: str | None = None
    memory: int | None = None
    job: str | None = None
    """The job that it belongs to; None for a stranger, or if nobody can tell."""
    worker: str | None = None
    """The worker's id as text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuSample:
    """One GPU. One that is lost keeps its index, uuid and name, and everything else is None."""

    index: int
    uuid: str | None = None
    name: str | None = None
    utilisation: float | None = None
    memory_used: int | None = None
    memory_total: int | None = None
    power: float | None = None
    power_limit: float | None = None
    temperature: float | None = None
    fan: float | None = None
    lost: bool = False
    """It was there and the driver does not find it any more."""
    processes: tuple[GpuProcess, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NetSample:
    """One interface of the network; loopback is none."""

    id: str
    bandwidth: float | None = None
    """Bits a second that it can do; None for one that does not say, as virtual ones."""
    received: float | None = None
    sent: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class DiskSample:
    """One file system on a disk."""

    path: str
    """Where it is mounted."""
    used: int | None = None
    total: int | None = None
    read: float | None = None
    written: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSample:
    """One moment of a node."""

    at: float
    cpu: float | None = None
    """Of all cores together, 0 to 100."""
    cores: tuple[float | None, ...] = ()
    load: float | None = None
    """Processes that run or want to, mean of the last minute."""
    ram_used: int | None = None
    ram_total: int | None = None
    swap_used: int | None = None
    swap_total: int | None = None
    disks: tuple[DiskSample, ...] = ()
    nets: tuple[NetSample, ...] = ()
    gpus: tuple[GpuSample, ...] = ()
    gpu_problem: str | None = None
    """Why nothing can be told of GPUs, in a sentence; None if all is well, or there is no driver at all."""
    driver: str | None = None
    """The version of the GPUs' driver."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gap:
    """A time of which there are no samples, and why."""

    since: float
    until: float
    why: str
