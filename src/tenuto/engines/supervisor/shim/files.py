"""Small files that are whole or not there, and the identity of a process, without loading anything heavy."""

from __future__ import annotations

import json

from tenuto.atomic_file import replace_file

TYPE_CHECKING = False  # importing typing costs milliseconds
if TYPE_CHECKING:
    from typing import Any


def write_whole(path: str, value: object, *, durable: bool = False) -> None:
    """Put JSON into a file so that nobody ever sees half of it; `durable` survives a loss of power."""
    replace_file(path, json.dumps(value).encode(), durable=durable)


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
