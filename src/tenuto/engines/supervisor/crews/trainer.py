"""Which of a worker's processes trains: its command may be a shell, and what trains may have children."""

from __future__ import annotations

import os
from pathlib import Path

from tenuto.engines.supervisor.shim.processes import descendants


def find_trainer(command: int, page: Path) -> int:
    """The process that keeps the status page: the command itself or the nearest below it; the command, if none does."""
    mark = os.fsencode(page)
    for pid in (command, *descendants(command)):
        try:
            if mark in Path(f"/proc/{pid}/maps").read_bytes():
                return pid
        except OSError:
            continue  # gone meanwhile, or not ours to see
    return command
