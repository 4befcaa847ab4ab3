"""What grows on disk in parts that are named by the offset of their first byte: logs, and spools of records."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

CHUNK = 256 << 10


class Parts:
    """One log or spool. Parts that were brought over are deleted."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def read(self, offset: int) -> tuple[int, bytes]:
        """The next piece at or after an offset and where it begins; empty if there is none yet."""
        starts = self._starts()
        for index, start in enumerate(starts):
            if index + 1 < len(starts) and starts[index + 1] <= offset:
                continue
            begin = max(start, offset)
            if data := self._piece(start, begin - start):
                return begin, data
        return offset, b""

    def drop_before(self, offset: int) -> None:
        """Delete the parts that end before an offset."""
        starts = self._starts()
        for start, following in pairwise(starts):
            if following <= offset:
                self._path(start).unlink(missing_ok=True)

    def after(self, offset: int) -> int | None:
        """Where the part begins that follows the one of an offset; None if there is none."""
        return next((start for start in self._starts() if start > offset), None)

    def _starts(self) -> list[int]:
        try:
            return sorted(int(part.name) for part in self._directory.iterdir() if part.name.isdigit())
        except FileNotFoundError:
            return []

    def _piece(self, start: int, skip: int) -> bytes:
        try:
            with self._path(start).open("rb") as part:
                part.seek(skip)
                return part.read(CHUNK)
        except FileNotFoundError:
            return b""  # whoever writes needed the room

    def _path(self, start: int) -> Path:
        return self._directory / f"{start:020d}"
