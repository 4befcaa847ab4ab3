"""What this machine has to offer: slots, free ports, the address that others reach it by."""

from __future__ import annotations

import os
import socket
from collections.abc import Collection
from urllib.parse import urlsplit

from tenuto.errors import InputInvalid
from tenuto.gpus_here import PATIENCE, gpus_here
from tenuto.model.node import Slot

_PORTS = 8
_MOST_SLOTS = 4096
LOOPBACK = "127.0.0.1"


def find_slots(count: int | None = None, patience: float = PATIENCE) -> tuple[Slot, ...]:
    """The machine's GPUs; one CPU share for each core if it has none; exactly `count` CPU shares if that is given."""
    if count is None:
        return find_gpus(patience) or (Slot(),) * len(os.sched_getaffinity(0))
    if not 1 <= count <= _MOST_SLOTS:
        raise InputInvalid(
            f"a node cannot have {count} slots",
            remedy=f"Give a number from 1 to {_MOST_SLOTS}",
            field="slots",
        )
    return (Slot(),) * count


def find_gpus(patience: float = PATIENCE) -> tuple[Slot, ...]:
    """The GPUs that NVML tells of and CUDA_VISIBLE_DEVICES, if it is set, allows by their numbers.

    Raises DriverSilent if there is no answer within some seconds.
    """
    here = gpus_here(patience)
    allowed = os.environ.get("CUDA_VISIBLE_DEVICES")
    numbers = None if allowed is None else {part.strip() for part in allowed.split(",")}
    return tuple(
        Slot(device=str(gpu.index), kind=gpu.name)
        for gpu in (here.gpus if here else ())
        if not gpu.problem and (numbers is None or str(gpu.index) in numbers)
    )


def own_address(server: str) -> str:
    """The address of this machine on the way to the server; asking sends nothing."""
    parts = urlsplit(server)
    try:
        family, kind, _, _, target = socket.getaddrinfo(
            parts.hostname, parts.port or 80, type=socket.SOCK_DGRAM
        )[0]
        with socket.socket(family, kind) as asked:
            asked.connect(target)
            return str(asked.getsockname()[0])
    except OSError:
        return LOOPBACK


class FreePorts:
    """A handful of ports that were free a moment ago, for workers to meet at."""

    def __init__(self, count: int = _PORTS) -> None:
        self._count = count
        self._ports: list[int] = []

    def offer(self, used: Collection[int]) -> tuple[int, ...]:
        """The ports to offer now; never one that is in use by a worker, who may not have opened it yet."""
        self._ports = [port for port in self._ports if port not in used and _is_free(port)]
        missing = self._count - len(self._ports)
        self._ports += [port for port in _ask_for_ports(missing) if port not in used]
        return tuple(self._ports)


def _is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as tried:
        try:
            tried.bind(("", port))
        except OSError:
            return False
    return True


def _ask_for_ports(count: int) -> list[int]:
    """Ports that the system gives; all are held until the last is there, so that no two are the same."""
    held = [socket.socket(socket.AF_INET, socket.SOCK_STREAM) for _ in range(count)]
    try:
        for one in held:
            one.bind(("", 0))
        return [one.getsockname()[1] for one in held]
    except OSError:
        return []
    finally:
        for one in held:
            one.close()
