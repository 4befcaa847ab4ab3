"""Where a worker's records go on its own disk: parts for the supervisor, a log for people, the newest line.

Nothing here raises: a full disk costs records, never a step. What does not fit is counted by who hands it over.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

_PART = 1 << 20
_KEEP = 64 << 20


class Spool:
    """Lines in files that are named by the offset of their first byte, each beginning with a whole line.

    The supervisor deletes what it has brought over; if it does not, the oldest part goes when there is no room.
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
            with _appending(self._path(self._start)) as file:
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


class WorkerLog:
    """The same records as a file of JSON lines and one that people read, for as long as the user keeps them."""

    def __init__(self, directory: Path, node: str, rank: int) -> None:
        name = f"{node}_worker{rank}".replace(os.sep, "_")
        self._records = directory / f"{name}.jsonl"
        self._text = directory / f"{name}.txt"
        self._who = f"{node}/{rank}"
        self._elapsed = 0.0
        with contextlib.suppress(OSError):
            directory.mkdir(parents=True, exist_ok=True)

    def write(self, line: bytes, record: Mapping[str, Any]) -> None:
        """Append one record to both."""
        _append(self._records, line)
        if record["kind"] == "step":
            _append(self._text, "".join(f"{text}\n" for text in self._step_lines(record)).encode())

    def _step_lines(self, record: Mapping[str, Any]) -> Iterator[str]:
        step = record["step"]
        if record.get("samples_per_second") is not None:
            yield f"global_step: {step} samples_per_sec: {record['samples_per_second']:.1f}"
        if record.get("seconds") is not None:
            yield f"[{step}] node/worker: {self._who} -> elapsed time: {record['seconds']:.6f}"
        now = datetime.fromtimestamp(record["at"], tz=UTC)
        yield f"[{step}] node/worker: {self._who} -> current time: {now.isoformat()}"


def write_progress(path: Path, progress: Mapping[str, Any]) -> None:
    """Make this the only line of a worker's report (`wire.env.REPORT`)."""
    new = path.with_name(f"{path.name}.new")
    with contextlib.suppress(OSError):
        new.write_text(json.dumps(progress) + "\n", encoding="utf-8")
        new.replace(path)


def _seq_of(line: bytes) -> int:
    try:
        return int(json.loads(line)["seq"])
    except (ValueError, LookupError, TypeError):
        return -1  # half a line


def _append(path: Path, data: bytes) -> None:
    with contextlib.suppress(OSError), _appending(path) as file:
        os.write(file, data)


@contextlib.contextmanager
def _appending(path: Path) -> Iterator[int]:
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        yield file
    finally:
        os.close(file)
