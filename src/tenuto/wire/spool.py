"""Records on their way, on disk: lines in parts, added by one process and brought over by another. Standard library only.

Workers spool what they tell, and supervisors what they tell about workers. Nothing here raises: a full disk costs
records, never a step.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

_PART = 1 << 20
_KEEP = 64 << 20


class Spool:
    """Lines in files that are named by the offset of their first byte, each beginning with a whole line.

    Whoever brings them over deletes what has arrived; if nobody does, the oldest part goes when there is no room.
    """

    def __init__(self, directory: Path, part: int = _PART, keep: int = _KEEP) -> None:
        self._directory = directory
        self._part_bytes = part
        self._keep = keep
        self.lost = 0
        """Lines that were deleted before anybody came for them."""
        with contextlib.suppress(OSError):
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._start, self._used = self._resume()
        self._is_ragged = self._used > 0 and not self._read_part().endswith(b"\n")

    def write(self, line: bytes) -> bool:
        """Append a line; False if it found no room, or not all of it: hand it over again."""
        if self._used >= self._part_bytes:
            self._start, self._used = self._start + self._used, 0
            self._make_room()
        try:
            with appending(self._path(self._start)) as file:
                return self._put(file, line)
        except OSError:
            return False

    def next_seq(self) -> int:
        """The number after that of the last line here, for a worker that begins again in its directory."""
        try:
            return max(_seq_of(line) for line in self._read_part().splitlines()) + 1
        except ValueError:
            return 0

    def _put(self, file: int, line: bytes) -> bool:
        # Half a line from before ends here. It is not cut off, because somebody may have read it already.
        whole = b"\n" + line if self._is_ragged else line
        written = os.write(file, whole)
        self._used += written
        self._is_ragged = written < len(whole) and (written > 0 or self._is_ragged)
        return written == len(whole)

    def _read_part(self) -> bytes:
        try:
            return self._path(self._start).read_bytes()
        except OSError:
            return b""

    def _resume(self) -> tuple[int, int]:
        starts = self._starts()
        if not starts:
            return 0, 0
        with contextlib.suppress(OSError):
            return starts[-1], self._path(starts[-1]).stat().st_size
        return starts[-1], 0

    def _make_room(self) -> None:
        starts = self._starts()
        while starts and self._start - starts[0] > self._keep:
            oldest = self._path(starts.pop(0))
            with contextlib.suppress(OSError):
                self.lost += oldest.read_bytes().count(b"\n")
                oldest.unlink()

    def _starts(self) -> list[int]:
        try:
            return sorted(int(part.name) for part in self._directory.iterdir() if part.name.isdigit())
        except OSError:
            return []

    def _path(self, start: int) -> Path:
        return self._directory / f"{start:020d}"


@contextlib.contextmanager
def appending(path: Path) -> Iterator[int]:
    """A file that is open to be added to, as a descriptor; made if there is none."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        yield file
    finally:
        os.close(file)


def _seq_of(line: bytes) -> int:
    try:
        return int(json.loads(line)["seq"])
    except (ValueError, LookupError, TypeError):
        return -1  # half a line
