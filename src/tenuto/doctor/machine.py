"""What a machine offers to whatever runs on it: processors, memory, limits, names."""

from __future__ import annotations

import os
import resource
import socket
from collections.abc import Iterator
from pathlib import Path

import psutil

from tenuto.doctor.finding import Finding, Status, size
from tenuto.doctor.patience import NoAnswer, within

TOPIC = "machine"
_SHARED_MEMORY = "/dev/shm"  # noqa: S108  looked at, not written to
_FEW_FILES, _TOO_FEW_FILES = 1024, 256
"""A server needs a descriptor for each client and a few for each node."""
_LITTLE_MEMORY = 0.05
_LITTLE_SHARED = 256 << 20
"""Data loaders exchange batches there; a container has 64 MiB unless it is told otherwise."""
_NAMES = 3.0
"""Seconds that asking for the own name may take."""


def find_machine() -> Iterator[Finding]:
    """Everything about this machine that needs no directory and no server."""
    yield _processors()
    yield _memory()
    yield _shared_memory()
    yield _open_files()
    yield _loopback()
    yield _own_name()


def _processors() -> Finding:
    usable, load = len(os.sched_getaffinity(0)), os.getloadavg()[0]
    told = f"{usable} usable, load {load:.1f}"
    return Finding(topic=TOPIC, name="processors", told=told, value=usable, unit="processors")


def _memory() -> Finding:
    memory = psutil.virtual_memory()
    told = f"{size(memory.available)} of {size(memory.total)} available"
    little = memory.available < _LITTLE_MEMORY * memory.total
    return Finding(
        topic=TOPIC,
        name="memory",
        status=Status.WARNING if little else Status.OK,
        told=told,
        remedy="End what is not needed; workers may be killed by the system" if little else "",
        value=memory.available,
        unit="bytes",
    )


def _shared_memory() -> Finding:
    if not Path(_SHARED_MEMORY).is_dir():
        return Finding(
            topic=TOPIC,
            name=_SHARED_MEMORY,
            status=Status.WARNING,
            told="is not there",
            remedy="Mount a tmpfs there: data loaders with workers need it",
        )
    stat = os.statvfs(_SHARED_MEMORY)
    total, free = stat.f_frsize * stat.f_blocks, stat.f_frsize * stat.f_bavail
    little = total < _LITTLE_SHARED
    return Finding(
        topic=TOPIC,
        name=_SHARED_MEMORY,
        status=Status.WARNING if little else Status.OK,
        told=f"{size(free)} of {size(total)} free",
        remedy="Make it larger (containers: --shm-size=1g): data loaders with workers need it"
        if little
        else "",
        value=free,
        unit="bytes",
    )


def _open_files() -> Finding:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    endless = soft == resource.RLIM_INFINITY
    status = Status.OK
    if not endless and soft < _FEW_FILES:
        status = Status.PROBLEM if soft < _TOO_FEW_FILES else Status.WARNING
    return Finding(
        topic=TOPIC,
        name="open files",
        status=status,
        told="no limit" if endless else f"{soft} for a process, {hard} if it asks for more",
        remedy="" if status is Status.OK else f"ulimit -n {max(min(hard, 65536), _FEW_FILES)}",
        value=None if endless else soft,
        unit="files",
    )


def _loopback() -> Finding:
    try:
        with socket.create_server(("127.0.0.1", 0)) as server:
            socket.create_connection(server.getsockname(), timeout=_NAMES).close()
    except OSError as error:
        return Finding(
            topic=TOPIC,
            name="loopback",
            status=Status.PROBLEM,
            told=f"127.0.0.1 cannot be used ({error.strerror or error})",
            remedy="ip link set lo up",
        )
    return Finding(topic=TOPIC, name="loopback", told="127.0.0.1 answers")


def _own_name() -> Finding:
    name = socket.gethostname()
    try:
        found = within(_NAMES, lambda: socket.getaddrinfo(name, None, type=socket.SOCK_STREAM))
    except (OSError, UnicodeError, NoAnswer):
        return Finding(
            topic=TOPIC,
            name="host name",
            status=Status.WARNING,
            told=f"{name} has no address",
            remedy=f"Add {name} to /etc/hosts: some frameworks look it up",
        )
    addresses = ", ".join(sorted({str(one[4][0]) for one in found}))
    return Finding(topic=TOPIC, name="host name", told=f"{name} is {addresses}")
