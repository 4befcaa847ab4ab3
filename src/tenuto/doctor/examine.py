"""All that can be said of a machine by itself: the same on the server's machine and on every node."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from tenuto.doctor.directories import find_directory
from tenuto.doctor.finding import Finding
from tenuto.doctor.machine import find_machine
from tenuto.doctor.parts import find_parts

MOST_PATHS = 16
"""Directories that are looked at for one question."""


def examine(directories: Iterable[Path]) -> Iterator[Finding]:
    """Look at this machine and at some directories; what is not absolute is taken from the current one."""
    yield from find_machine()
    for directory in list(dict.fromkeys(directories))[:MOST_PATHS]:
        yield from find_directory("directories", directory.expanduser())
    yield from find_parts()
