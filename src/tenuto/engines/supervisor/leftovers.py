"""What a worker may have left behind when its shim was killed, so that "gone" can be said for certain."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

from tenuto.engines.supervisor.worker_files import Running
from tenuto.wire import env


def kill_leftovers(report: Path, running: Running | None) -> bool:
    """Kill what still belongs to a worker; True if nothing was left to kill."""
    left = list(_leftovers(f"{env.REPORT}={report}".encode(), running))
    for pid in left:
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            continue  # gone meanwhile, or not ours to kill: it is found again until it has gone
    return not left


def _leftovers(mark: bytes, running: Running | None) -> Iterator[int]:
    """Every process that carries the worker's mark in its environment, or is of its session and group.

    A number of a session and of a group is not given to others while a member lives, and no other pair has both.
    """
    shim = None if running is None else running.shim.pid
    worker = None if running is None or running.worker is None else running.worker.pid
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) in (os.getpid(), shim):
            continue
        try:
            state, _, group, session = (entry / "stat").read_bytes().rpartition(b")")[2].split()[:4]
            if state in (b"Z", b"X"):
                continue
            ours = (int(session), int(group)) == (shim, worker)
            if ours or mark in (entry / "environ").read_bytes().split(b"\0"):
                yield int(entry.name)
        except (OSError, ValueError):
            continue  # gone meanwhile, or another user's
