"""What a worker prints, on disk until it is uploaded."""

from __future__ import annotations

import os

_LEAST_PART, _MOST_PART = 4096, 8 << 20


class Log:
    """Files that are named by the offset of their first byte; only the newest `keep` bytes stay.

    Bytes that find no room on the disk are counted and left out: a full disk stops no training.
    """

    def __init__(self, directory: str, keep: int, offset: int = 0) -> None:
        self.offset = offset
        """How many bytes were printed."""
        self._directory = directory
        self._keep = keep
        self._part_bytes = max(_LEAST_PART, min(_MOST_PART, keep // 8))
        self._starts: list[int] = []
        self._part: int | None = None
        self._last = b"" if offset else b"\n"
        os.makedirs(directory, mode=0o700, exist_ok=True)

    def write(self, data: bytes) -> None:
        """Append; never fails."""
        self._last = data[-1:] or self._last
        rest = memoryview(data)
        while rest:
            used = 0 if self._part is None else self.offset - self._starts[-1]
            piece, rest = rest[: self._part_bytes - used], rest[self._part_bytes - used :]
            self._put(piece)
        while len(self._starts) > 1 and self.offset - self._starts[0] > self._keep:
            self._drop(self._starts.pop(0))

    def line(self, text: str) -> None:
        """Append a line of our own."""
        before = b"" if self._last == b"\n" else b"\n"
        self.write(before + text.encode() + b"\n")

    def _put(self, piece: memoryview) -> None:
        end = self.offset + len(piece)
        try:
            if self._part is None:
                # The worker could put a pipe or a link there: neither may block us, nor lead elsewhere.
                flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW
                self._part = os.open(self._path(self.offset), flags, 0o600)
                self._starts.append(self.offset)
            while self.offset < end:
                self.offset += os.write(self._part, piece[self.offset - end :])
        except OSError:
            self.offset = end  # the next part begins after what was lost, so offsets stay true
            self._close()
        if self._part is not None and self.offset - self._starts[-1] >= self._part_bytes:
            self._close()

    def _close(self) -> None:
        if self._part is not None:
            os.close(self._part)
            self._part = None

    def _drop(self, start: int) -> None:
        try:
            os.unlink(self._path(start))
        except OSError:
            return  # uploaded and removed already

    def _path(self, start: int) -> str:
        return f"{self._directory}/{start:020d}"
