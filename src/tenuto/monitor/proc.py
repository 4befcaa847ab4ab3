"""Where Linux tells about itself, and reading it without ever stumbling."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Places:
    """Directories of the kernel's."""

    proc: str = "/proc"
    sys: str = "/sys"


HERE = Places()


def read(path: str) -> bytes:
    """What is in a file of the kernel's; nothing if it is not there, or not for us."""
    try:
        with open(path, "rb", buffering=0) as file:
            return file.read()
    except OSError:
        return b""


def number(path: str) -> int | None:
    """The one number in a file of the kernel's."""
    try:
        return int(read(path), 0)
    except ValueError:
        return None
