"""How many bytes the files of each job take below a directory, without a walk through all of them each time.

The first measurement looks at every file. After it only jobs whose files have changed are measured again, so a round
costs as much as jobs are active, however many have ended.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path


class JobFiles:
    """Bytes by job. `note` may be called from any thread, `measure` belongs to one."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._changed: set[str] = set()
        self._lock = threading.Lock()
        self._bytes: dict[str, int] = {}
        self._begun = False

    def note(self, job: str) -> None:
        """Remember that files of a job have changed."""
        with self._lock:
            self._changed.add(job)

    def measure(self) -> Mapping[str, int]:
        """The bytes of every job that has any."""
        with self._lock:
            jobs, self._changed = self._changed, set()
        if not self._begun:
            jobs |= set(_directories(self._directory))
            self._begun = True
        for job in jobs:
            size = sum(map(_bytes_in, _paths(self._directory / job)))
            if size:
                self._bytes[job] = size
            else:
                self._bytes.pop(job, None)
        return self._bytes


def _directories(directory: Path) -> Iterator[str]:
    return (path.name for path in _paths(directory))


def _paths(directory: Path) -> list[Path]:
    """The directories in a directory; anything else that lies there is not ours."""
    try:
        with os.scandir(directory) as entries:
            return [Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:  # removed meanwhile, or none of our directories
        return []


def _bytes_in(directory: Path) -> int:
    try:
        with os.scandir(directory) as entries:
            return sum(_size(entry) for entry in entries)
    except OSError:
        return 0


def _size(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat(follow_symlinks=False).st_size if entry.is_file(follow_symlinks=False) else 0
    except OSError:
        return 0
