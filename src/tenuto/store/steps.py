"""What workers tell of their steps, kept in files: records come in batches, in their order, perhaps twice.

    records/<job>/<generation>.<role>.<rank>[.<teller>]/<seq of the first record>.part     one JSON object a line

A stream is known by the worker it is about and by who tells it: the worker itself, or its supervisor. The next `seq`
that is wanted follows from the last whole line, so a crash leaves nothing out of step: half a line is cut off, and sent
again. Old parts are dropped when a stream grows beyond what is kept. Nothing is synced to disk: what must not be lost
by a loss of power (events) is written to the store as well.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from tenuto.errors import Conflict, InputInvalid
from tenuto.store.base import StoreUnavailable
from tenuto.store.job_files import JobFiles
from tenuto.store.log_parts import (
    SUFFIX,
    append_to,
    check_numbers,
    drop_parts,
    part_files,
    worker_directories,
)
from tenuto.wire.record_rules import problem_of_record
from tenuto.wire.worker import WorkerId

Record = dict[str, Any]
WORKER_ITSELF = "worker"
SUPERVISOR = "supervisor"
GAP = "gap"
"""The code of the refusal of records that come too early."""
PART_BYTES = 256 << 10
"""A part is not made larger by much; what is dropped and what is passed over is a whole part."""
_LOCKS = 64
_JOB = re.compile(r"[\w-][\w.-]*")
_ROLE = re.compile(r"[\w-]+")
_NAME_BYTES = 200


@dataclass(frozen=True, slots=True, order=True)
class Stream:
    """Records about one worker, numbered by one teller."""

    worker: WorkerId
    teller: str = WORKER_ITSELF

    def __str__(self) -> str:
        return str(self.worker) if self.teller == WORKER_ITSELF else f"{self.worker}.{self.teller}"


class StepStore:
    """The records of all workers. Safe to call from any thread."""

    def __init__(self, directory: Path, keep_bytes: int) -> None:
        self._directory = directory
        self._keep_bytes = keep_bytes
        self._part_bytes = max(1, min(PART_BYTES, keep_bytes // 8))
        self._locks = [threading.Lock() for _ in range(_LOCKS)]
        self._next: dict[Stream, int] = {}
        """Found out once for each stream: only this object writes."""
        self.files = JobFiles(directory)
        """How many bytes each job has here."""

    def wanted(self, stream: Stream) -> int:
        """The `seq` that is wanted next."""
        with self._lock_of(stream):
            return self._wanted(stream, self._directory_of(stream))

    def append(self, stream: Stream, records: Sequence[Record], *, skip: bool = False) -> list[Record]:
        """Add records that follow upon each other; returns those that are new.

        What is there already is not stored again. Records that come too early are refused, unless `skip` says that
        those between are lost for good.
        """
        directory = self._directory_of(stream)
        with self._lock_of(stream):
            wanted = self._wanted(stream, directory)
            if records and records[0]["seq"] > wanted and not skip:
                raise too_early(stream, wanted, records[0]["seq"])
            new = [record for record in records if record["seq"] >= wanted]
            if new:
                try:
                    self._write(directory, new)
                except OSError as error:
                    self._next.pop(stream, None)
                    raise StoreUnavailable(
                        f"The records of {stream} cannot be written ({error.strerror})",
                        remedy=f"Make room and make {self._directory} writable; what is missing is sent again",
                    ) from error
                self._next[stream] = new[-1]["seq"] + 1
                self.files.note(stream.worker.job)
            return new

    def read(self, stream: Stream, from_step: int = 0) -> Iterator[Record]:
        """The records that are kept, in their order; whole parts that end before a step are passed over."""
        parts = part_files(self._directory_of(stream))
        for index, (_, path) in enumerate(parts):
            following = parts[index + 1][1] if index + 1 < len(parts) else None
            if from_step and following is not None and _first(following, "step") < from_step:
                continue
            yield from _records_in(path)

    def since(self, stream: Stream, moment: float) -> Iterator[Record]:
        """The records that were told later than that, in their order; older parts are not read."""
        parts = [path for _, path in part_files(self._directory_of(stream))]
        begin = len(parts) - 1
        while begin > 0 and _first(parts[begin], "at") > moment:
            begin -= 1
        for path in parts[max(begin, 0) :]:
            yield from (record for record in _records_in(path) if record["at"] > moment)

    def drop(self, stream: Stream, wanted: int, *, ended: bool) -> int:
        """Remove the oldest parts of a stream until `wanted` bytes have gone; returns how many have.

        Of a worker that has not ended the newest part stays. The `seq` that is wanted next does not change.
        """
        directory = self._directory_of(stream)
        with self._lock_of(stream):
            end = self._wanted(stream, directory) if ended else None
            gone = drop_parts(directory, wanted, end)
        self.files.note(stream.worker.job)
        return gone

    def first(self, stream: Stream) -> int:
        """The `seq` of the oldest record that is kept; if there is none, the one that is wanted next."""
        parts = part_files(self._directory_of(stream))
        return parts[0][0] if parts else 0

    def streams(self, job: str) -> list[Stream]:
        """Whose records are kept for a job, in order."""
        _check_name(job, _JOB, "job")
        return sorted(_stream(job, name) for name in worker_directories(self._directory / job))

    def remove(self, job: str) -> None:
        """Forget all records of a job. No harm if there are none."""
        for stream in self.streams(job):
            self._next.pop(stream, None)
        shutil.rmtree(self._directory / job, ignore_errors=True)
        self.files.note(job)

    def _lock_of(self, stream: Stream) -> threading.Lock:
        return self._locks[hash(stream) % _LOCKS]

    def _wanted(self, stream: Stream, directory: Path) -> int:
        if stream not in self._next:
            self._next[stream] = _find_end(directory)
        return self._next[stream]

    def _write(self, directory: Path, new: Sequence[Record]) -> None:
        lines = b"".join(map(_written, new))
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        parts = part_files(directory)
        last = parts[-1][1] if parts else None
        if last is None or last.stat().st_size >= self._part_bytes:
            last = directory / f"{new[0]['seq']:020d}{SUFFIX}"
            parts.append((new[0]["seq"], last))
        append_to(last, lines)
        self._drop_oldest(parts)

    def _drop_oldest(self, parts: list[tuple[int, Path]]) -> None:
        sizes = [path.stat().st_size for _, path in parts]
        kept = sum(sizes)
        for (_, path), size in list(zip(parts, sizes, strict=True))[:-1]:
            if kept <= self._keep_bytes:
                return
            path.unlink(missing_ok=True)
            kept -= size

    def _directory_of(self, stream: Stream) -> Path:
        worker = stream.worker
        _check_name(worker.job, _JOB, "job")
        _check_name(worker.role, _ROLE, "role")
        _check_name(stream.teller, _ROLE, "teller")
        check_numbers(worker)
        name = f"{worker.generation}.{worker.role}.{worker.rank}"
        if stream.teller != WORKER_ITSELF:
            name += f".{stream.teller}"
        return self._directory / worker.job / name


def too_early(stream: Stream, wanted: int, first: int) -> Conflict:
    """The refusal of records before which others are missing."""
    return Conflict(
        f"record {wanted} of {stream} is wanted next, not {first}",
        code=GAP,
        remedy=f"Send them from seq {wanted} on, or say that those between are lost: skip: true",
        field="first",
    )


def _stream(job: str, name: Sequence[str]) -> Stream:
    generation, role, rank, *teller = name
    return Stream(WorkerId(job, int(generation), role, int(rank)), teller[0] if teller else WORKER_ITSELF)


def _check_name(name: str, pattern: re.Pattern[str], field: str) -> None:
    """Names become names of directories: let none lead elsewhere."""
    if not pattern.fullmatch(name) or len(name.encode()) > _NAME_BYTES:
        raise InputInvalid(
            f"{name[:80]!r} is no name of a {field}",
            remedy="Use letters, digits, - and _ only, and at most 200 bytes",
            field=field,
        )


def _find_end(directory: Path) -> int:
    """The `seq` behind the last whole record; whatever stands behind it is cut off.

    A part without any record says by its name what is wanted next: older ones were removed, or a crash left it empty.
    """
    parts = part_files(directory)
    if not parts:
        return 0
    first, path = parts[-1]
    text = path.read_bytes()
    end, seq = text.rfind(b"\n") + 1, None
    while end and seq is None:
        begin = text.rfind(b"\n", 0, end - 1) + 1
        record = _record_in(text[begin:end])
        seq = None if record is None else record["seq"]
        end = end if record is not None else begin  # a loss of power leaves lines of nothing
    if end < len(text):
        os.truncate(path, end)
    return first if seq is None else int(seq) + 1


def _first(path: Path, name: str) -> float:
    """A number of a part's first record."""
    try:
        with path.open("rb") as part:
            record = _record_in(part.readline())
    except OSError:
        return 0
    value = (record or next(_records_in(path), {})).get(name, 0)
    return value if isinstance(value, int | float) else 0


def _records_in(path: Path) -> Iterator[Record]:
    """The records of a part. A line that is none (a loss of power, a damaged disk) is passed over."""
    try:
        text = path.read_bytes()
    except OSError:
        return  # dropped meanwhile, or damaged
    whole, _, _ = text.rpartition(b"\n")
    for line in whole.splitlines():
        record = _record_in(line)
        if record is not None:
            yield record


def _record_in(line: bytes) -> Record | None:
    """The record of a line; None if it cannot be read, or would not be accepted."""
    try:
        record = from_json(line)
    except ValueError:
        return None
    if not isinstance(record, dict) or problem_of_record(record) is not None:
        return None
    return record


def _written(record: Record) -> bytes:
    """A record as a line, once it has been read back as readers will. Raises InputInvalid."""
    try:
        line = json.dumps(record).encode()
        from_json(line)
    except (ValueError, TypeError, RecursionError) as error:
        raise InputInvalid(
            f"a record cannot be read back ({str(error)[:120]})",
            remedy="Write records as wire.records says",
            field="records",
        ) from None
    return line + b"\n"
