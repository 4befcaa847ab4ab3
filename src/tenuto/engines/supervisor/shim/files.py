"""Small files that are whole or not there, and the identity of a process, without loading anything heavy."""

from __future__ import annotations

import json
import os

TYPE_CHECKING = False  # importing typing costs milliseconds
if TYPE_CHECKING:
    from typing import Any


def write_whole(path: str, value: object, *, durable: bool = False) -> None:
    """Put JSON into a file so that nobody ever sees half of it; `durable` survives a loss of power."""
    new = f"{path}.new"
    descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(json.dumps(value).encode())
        file.flush()
        if durable:
            os.fsync(descriptor)
    os.replace(new, path)
    if durable:
        folder = os.open(os.path.dirname(path), os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def read_whole(path: str) -> Any:
    """What `write_whole` wrote; None if it is not there, or if a loss of power left it empty."""
    try:
        with open(path, "rb") as file:
            return json.loads(file.read())
    except (FileNotFoundError, ValueError):
        return None


def boot() -> str:
    """Changes whenever the machine is started."""
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return file.read().strip()


def identity(pid: int) -> str:
    """The boot and the clock tick at which a process started: with its pid, no other has the same.

    The form is that of `engines.identity`.
    """
    with open(f"/proc/{pid}/stat", "rb") as file:
        return f"{boot()}:{file.read().rpartition(b')')[2].split()[19].decode()}"
