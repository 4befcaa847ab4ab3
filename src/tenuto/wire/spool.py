"""Records on their way, on disk: lines in parts, added by one process, brought over by another. Standard library only.

Workers spool what they tell, and supervisors what they tell about workers. Nothing here raises: a full disk costs
records, never a step.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from pathlib import Path

from tenuto.wire.untrusted_files import UntrustedDirectory, part_name

_PART = 1 << 20
_KEEP = 64 << 20
_MOST_PART = 16 << 20
"""Bytes of one part that are read at most."""


class Spool:
    """Lines in files that are named by the offset of their first byte, each beginning with a whole line.

    Whoever brings them over deletes what has arrived; if nobody does, the oldest part goes when there is no room.
    """

    def __init__(self, directory: Path, part: int = _PART, keep: int = _KEEP) -> None:
        self._directory = UntrustedDirectory(directory.parent, directory.name)
        self._part_bytes = part
        self._keep = keep
        self.lost = 0
        """Lines that were deleted before anybody came for them."""
        with contextlib.suppress(OSError):
            directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._start, self._used = self._resume()
        has_half_a_line = self._used > 0 and not self._read_part().endswith(b"\n")
        self._rest = b"\n" if has_half_a_line else b""
        """Of a line that was begun: it comes first, as soon as there is room."""

    def write(self, line: bytes) -> bool:
        """Append a line; False if it found no room: hand it over again."""
        if not self.settle():
            return False
        if self._used >= self._part_bytes:
            self._start, self._used = self._start + self._used, 0
            self._make_room()
        written = self._put(line)
        self._rest = line[written:] if written else b""
        return written > 0

    def settle(self) -> bool:
        """Bring the rest of a line to disk that found room for a part of it only; False if there is still none."""
        if self._rest:
            self._rest = self._rest[self._put(self._rest) :]
        return not self._rest

    def next_seq(self) -> int:
        """The number after that of the last line here, for a worker that begins again in its directory."""
        try:
            return max(_seq_of(line) for line in self._read_part().splitlines()) + 1
        except ValueError:
            return 0

    def _put(self, data: bytes) -> int:
        """How many bytes found room. None is ever cut off again, because somebody may have read it already."""
        try:
            written = self._directory.append(part_name(self._start), data)
        except OSError:
            return 0
        self._used += written
        return written

    def _read_part(self) -> bytes:
        return self._read(self._start)

    def _resume(self) -> tuple[int, int]:
        starts = self._starts()
        if not starts:
            return 0, 0
        return starts[-1], self._directory.stamp(part_name(starts[-1]))[1]

    def _make_room(self) -> None:
        starts = self._starts()
        while starts and self._start - starts[0] > self._keep:
            oldest = starts.pop(0)
            self.lost += self._read(oldest).count(b"\n")
            self._directory.unlink(part_name(oldest))

    def _starts(self) -> list[int]:
        return self._directory.part_starts()[0]

    def _read(self, start: int) -> bytes:
        """A part; it is a line longer than its size at most, unless another program wrote there."""
        return self._directory.read(part_name(start), _MOST_PART).data


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
    except (ValueError, LookupError, TypeError, RecursionError, OverflowError):
        return -1  # half a line, or no record
