"""Small files that are whole or not there, and the identity of a process, without loading anything heavy."""

from __future__ import annotations

import errno
import json
import os

from tenuto.atomic_file import clear_away, replace_file
from tenuto.wire.untrusted_files import UntrustedDirectory

TYPE_CHECKING = False  # importing typing costs milliseconds
if TYPE_CHECKING:
    from typing import Any

MAX_JSON_BYTES = 64 << 20
"""No file of ours is larger: an order is at most as large as a request, some megabytes."""


def write_whole(path: str, value: object, *, durable: bool = False) -> None:
    """Put JSON into a file so that nobody ever sees half of it; `durable` survives a loss of power. Raises OSError.

    A directory in the way, which a worker could make in its own, is renamed.
    """
    content = json.dumps(value).encode()
    try:
        replace_file(path, content, durable=durable)
    except IsADirectoryError:
        clear_away(path)
        replace_file(path, content, durable=durable)


def read_whole(path: str) -> Any:
    """What `write_whole` wrote; None if it is not there, or if a loss of power left it empty.

    Raises OSError if it is no regular file or cannot be read.
    """
    directory, name = os.path.split(path)
    reading = UntrustedDirectory(directory).read_whole(name, MAX_JSON_BYTES)
    if reading.problem:
        raise OSError(errno.EIO, reading.problem)
    return parse_json(reading.data)


def parse_json(data: bytes) -> Any:
    """A value as JSON tells it; None if it is none, or is nested too deeply to be read."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
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
