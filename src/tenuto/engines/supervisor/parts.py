"""What grows on disk in parts that are named by the offset of their first byte: logs, and spools of records.

The worker's own code can write there, so anything but regular files with such names is passed over.
"""

from __future__ import annotations

from itertools import pairwise

from tenuto.wire.untrusted_files import UntrustedDirectory, part_name

CHUNK = 256 << 10
MAX_PART_BYTES = 16 << 20
"""Bytes of one part that are read. Logs and spools begin a new part earlier; a sparse file could have terabytes."""


class Parts:
    """One log or spool. Parts that were brought over are deleted."""

    def __init__(self, directory: UntrustedDirectory) -> None:
        self._directory = directory
        self.problem = ""
        """What is wrong with the directory or a part of it; empty if nothing is."""

    def read(self, offset: int) -> tuple[int, bytes]:
        """The next piece at or after an offset and where it begins; empty if there is none yet."""
        starts, self.problem = self._directory.part_starts()
        for index, start in enumerate(starts):
            if index + 1 < len(starts) and starts[index + 1] <= offset:
                continue
            begin = max(start, offset)
            if begin - start >= MAX_PART_BYTES:
                self.problem = self.problem or f"{self._directory}/{part_name(start)} is too large"
                continue
            reading = self._directory.read(part_name(start), CHUNK, begin - start)
            self.problem = self.problem or reading.problem
            if reading.data:
                return begin, reading.data
        return offset, b""

    def drop_before(self, offset: int) -> None:
        """Delete the parts that end before an offset."""
        for start, following in pairwise(self._directory.part_starts()[0]):
            if following <= offset:
                self._directory.unlink(part_name(start))

    def after(self, offset: int) -> int | None:
        """Where the part begins that follows the one of an offset; None if there is none."""
        return next((start for start in self._directory.part_starts()[0] if start > offset), None)
