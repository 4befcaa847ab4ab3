"""What workers print, kept in files: it comes in pieces with offsets, from supervisors that may send them twice.

    logs/<job>/<generation>.<role>.<rank>/<offset of the first byte>.part

Offsets count from the first byte that the worker ever printed. Old parts are dropped when a log grows beyond what
is kept, and a supervisor that had to drop bytes goes on behind them, so a log may begin late and have gaps; who
reads sees them by the offsets he gets. Nothing is synced to disk: a log survives the end of any process, not a
loss of power.
"""

from __future__ import annotations

import re
import shutil
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

from tenuto.errors import InputInvalid
from tenuto.store.base import StoreUnavailable
from tenuto.store.job_files import JobFiles
from tenuto.store.log_parts import (
    Part,
    append_to,
    blocks_backwards,
    check_numbers,
    drop_parts,
    parts_of,
    path_of,
    read_from,
    without_gap,
    worker_directories,
)
from tenuto.wire.worker import WorkerId

T = TypeVar("T")

PART_BYTES = 64 << 20
"""A part is not made larger, nor larger than an eighth of what is kept."""
MAX_OFFSET = 1 << 62
BLOCK = 64 << 10
_LOCKS = 64
_JOB = re.compile(r"[\w-][\w.-]*")
_ROLE = re.compile(r"[\w-]+")
_NAME_BYTES = 200


class LogStore:
    """The logs of all workers. Safe to call from any thread."""

    def __init__(self, directory: Path, keep_bytes: int) -> None:
        self._directory = directory
        self._keep_bytes = keep_bytes
        self._part_bytes = max(1, min(PART_BYTES, keep_bytes // 8))
        self._locks = [threading.Lock() for _ in range(_LOCKS)]
        self._rings: dict[str, tuple[Callable[[WorkerId], None], ...]] = {}
        self.files = JobFiles(directory)
        """How many bytes each job has here."""

    def append(self, worker: WorkerId, offset: int, data: bytes) -> int:
        """Add what the worker printed from `offset` on; returns the offset that is wanted next.

        What is there already is not stored again. An offset beyond the end leaves a gap.
        """
        directory = self._directory_of(worker)
        if not 0 <= offset < MAX_OFFSET:
            raise InputInvalid(
                f"the offset {str(offset)[:40]} is out of range",
                remedy=f"Offsets are from 0 to {MAX_OFFSET - 1}",
                field="offset",
            )
        with self._locks[hash(worker) % _LOCKS]:
            try:
                end = self._append(directory, offset, data)
            except OSError as error:
                raise StoreUnavailable(
                    f"The log of {worker} cannot be written ({error.strerror})",
                    remedy=f"Make room and make {self._directory} writable; what is missing is sent again",
                ) from error
        self.files.note(worker.job)
        for ring in self._rings.get(worker.job, ()):
            ring(worker)
        return end

    def listen(self, job: str, ring: Callable[[WorkerId], None]) -> Callable[[], None]:
        """Call `ring(worker)` after each append to a log of a job, from whatever thread; returns what ends it."""
        with self._locks[0]:
            self._rings[job] = (*self._rings.get(job, ()), ring)

        def end() -> None:
            with self._locks[0]:
                left = tuple(one for one in self._rings.get(job, ()) if one is not ring)
                self._rings[job] = left
                if not left:
                    del self._rings[job]

        return end

    def _append(self, directory: Path, offset: int, data: bytes) -> int:
        parts = parts_of(directory)
        end = parts[-1].end if parts else 0
        new = data[max(0, end - offset) :]
        if not new:
            return end
        begin = max(offset, end)
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        for start in range(0, len(new), self._part_bytes):
            piece = new[start : start + self._part_bytes]
            parts = _with_piece(directory, parts, begin + start, piece, self._part_bytes)
        self._drop_oldest(directory, parts)
        return begin + len(new)

    def _drop_oldest(self, directory: Path, parts: list[Part]) -> None:
        kept = sum(part.end - part.first for part in parts)
        for part in parts[:-1]:
            if kept <= self._keep_bytes:
                return
            path_of(directory, part.first).unlink(missing_ok=True)
            kept -= part.end - part.first

    def drop(self, worker: WorkerId, wanted: int, *, ended: bool) -> int:
        """Remove the oldest parts of a log until `wanted` bytes have gone; returns how many have.

        Of a worker that has not ended the newest part stays. Where a removed log ended is still known, see `extent`.
        """
        directory = self._directory_of(worker)
        with self._locks[hash(worker) % _LOCKS]:
            end = self.extent(worker)[1] if ended else None
            gone = drop_parts(directory, wanted, end)
        self.files.note(worker.job)
        return gone

    def extent(self, worker: WorkerId) -> tuple[int, int]:
        """The offsets of the first byte that is kept and behind the last one; (0, 0) if there is none."""
        parts = parts_of(self._directory_of(worker))
        return (parts[0].first, parts[-1].end) if parts else (0, 0)

    def read(self, worker: WorkerId, offset: int, limit: int) -> tuple[int, bytes]:
        """At most `limit` bytes, from `offset` or from the next byte behind it that is kept.

        Gives the offset of the first byte and the bytes; they end before a gap.
        """
        directory = self._directory_of(worker)
        return _again_if_rotated(lambda: _read(directory, offset, limit))

    def tail(self, worker: WorkerId, lines: int, max_bytes: int) -> tuple[int, bytes]:
        """The last lines, at most `max_bytes` of them: the offset of the first byte, and the bytes.

        A line ends with a line feed; what a carriage return overwrites belongs to the same line.
        """
        directory = self._directory_of(worker)
        return _again_if_rotated(lambda: _tail(directory, lines, max_bytes))

    def workers(self, job: str) -> list[WorkerId]:
        """Whose logs are kept for a job, in order."""
        _check_name(job, _JOB, "job")
        return sorted(
            WorkerId(job, int(name[0]), name[1], int(name[2]))
            for name in worker_directories(self._directory / job)
            if len(name) == 3
        )

    def remove(self, job: str) -> None:
        """Forget all logs of a job. No harm if there are none."""
        _check_name(job, _JOB, "job")
        shutil.rmtree(self._directory / job, ignore_errors=True)
        self.files.note(job)

    def _directory_of(self, worker: WorkerId) -> Path:
        _check_name(worker.job, _JOB, "job")
        _check_name(worker.role, _ROLE, "role")
        check_numbers(worker)
        return self._directory / worker.job / f"{worker.generation}.{worker.role}.{worker.rank}"


def _check_name(name: str, pattern: re.Pattern[str], field: str) -> None:
    """Names become names of directories: let none lead elsewhere."""
    if not pattern.fullmatch(name) or len(name.encode()) > _NAME_BYTES:
        raise InputInvalid(
            f"{name[:80]!r} is no name of a {field}",
            remedy="Use letters, digits, - and _ only, and at most 200 bytes",
            field=field,
        )


def _with_piece(directory: Path, parts: list[Part], begin: int, piece: bytes, limit: int) -> list[Part]:
    """Write one piece, to the last part if it follows there and has room; returns the parts with it."""
    last = parts[-1] if parts else None
    if last is not None and last.end == begin and last.end - last.first + len(piece) <= limit:
        append_to(path_of(directory, last.first), piece)
        return [*parts[:-1], Part(last.first, last.end + len(piece))]
    append_to(path_of(directory, begin), piece)
    return [*parts, Part(begin, begin + len(piece))]


def _read(directory: Path, offset: int, limit: int) -> tuple[int, bytes]:
    parts = parts_of(directory)
    start = next((max(part.first, offset) for part in parts if part.end > offset), None)
    if start is None:
        return (parts[-1].end if parts else 0), b""
    pieces, position = [], start
    for part in parts:
        if part.first <= position < part.end and limit > position - start:
            piece = read_from(path_of(directory, part.first), position - part.first, limit - position + start)
            pieces.append(piece)
            position += len(piece)
    return start, b"".join(pieces)


def _tail(directory: Path, lines: int, max_bytes: int) -> tuple[int, bytes]:
    parts = without_gap(parts_of(directory))
    end = parts[-1].end if parts else 0
    if lines <= 0 or max_bytes <= 0:
        return end, b""
    blocks: list[bytes] = []
    size = feeds = 0
    for block in blocks_backwards(directory, parts, BLOCK):
        blocks.append(block)
        size += len(block)
        feeds += block.count(b"\n")
        if feeds > lines or size >= max_bytes:
            break
    text = b"".join(reversed(blocks))
    if len(text) > max_bytes:
        text = _from_whole_character(text[-max_bytes:])
    text = _last_lines(text, lines)
    return end - len(text), text


def _last_lines(text: bytes, lines: int) -> bytes:
    before = len(text) - text.endswith(b"\n")  # the last line's own end begins no other line
    for _ in range(lines):
        before = text.rfind(b"\n", 0, before)
        if before < 0:
            return text
    return text[before + 1 :]


def _from_whole_character(text: bytes) -> bytes:
    """Without the rest of a UTF-8 character that was cut at the beginning."""
    rest = next((i for i, byte in enumerate(text[:4]) if byte & 0xC0 != 0x80), 0)
    return text[rest:]


def _again_if_rotated(look: Callable[[], T]) -> T:
    """Look again while parts are dropped between listing and opening them."""
    for _ in range(9):
        try:
            return look()
        except FileNotFoundError:
            continue
    return look()
