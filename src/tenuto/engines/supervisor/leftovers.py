"""What a worker may have left behind when its shim was killed, so that "gone" can be said for certain."""

from __future__ import annotations

import os
import signal
from collections.abc import Collection, Iterator
from contextlib import suppress
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


def kill_orphans(workers: Path, known: Collection[str]) -> list[int]:
    """Kill the processes of workers without a record; returns their ids.

    They belong to workers of an earlier supervisor of the same directory whose record was deleted: no supervisor will
    look after them. `workers` is the directory of all records, `known` are the names of those that are there.
    """
    found = [pid for pid, name in marked_processes(workers) if name not in known]
    for pid in found:
        with suppress(OSError):
            os.kill(pid, signal.SIGKILL)
    return found


def marked_processes(workers: Path) -> Iterator[tuple[int, str]]:
    """Every living process of a worker with a record below a directory, deleted or not, with the record's name."""
    before, after = os.fsencode(f"{env.REPORT}={workers}/"), b"/report"
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            variables = (entry / "environ").read_bytes().split(b"\0")
            state = (entry / "stat").read_bytes().rpartition(b")")[2].split()[0]
        except (OSError, IndexError):
            continue  # gone meanwhile, or another user's
        marks = [line for line in variables if line.startswith(before) and line.endswith(after)]
        if marks and state not in (b"Z", b"X"):
            yield int(entry.name), os.fsdecode(marks[0][len(before) : -len(after)])


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
