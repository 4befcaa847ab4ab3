"""What a worker is doing, in a page of memory that its supervisor reads at any time. Standard library only.

One thread of the worker writes; a write takes a microsecond and is seen at once, also after the worker was killed.
There is room for two moments: while one is written the other stays as it is, so a worker that is killed or stopped in
the middle of a write shows the moment before. Each has its count at both ends, so that a reader whom the writer
overtakes twice finds that they differ, and looks again.
"""

from __future__ import annotations

import mmap
import os
import struct
from dataclasses import dataclass
from enum import IntEnum
from pathlib import Path

from tenuto.wire.untrusted_files import UntrustedDirectory

_SIZE = 4096
_MAGIC = 0x7E4070
_HEAD = struct.Struct("<QQ")  # magic, count of moments: the newest stands in the first room if it is even
_BODY = struct.Struct("<QqqqdiI")
_LAST = struct.Struct("<Q")
_TRIES = 100


class Stage(IntEnum):
    """Where a worker stands."""

    STARTING = 0
    """Imports and builds."""
    READY = 1
    """Waits for a membership with itself in it."""
    FORMING = 2
    """Meets the others of its generation; gets or gives state."""
    TRAINING = 3
    """Data and arithmetic of its own."""
    MEETING = 4
    """Waits for the others inside a step."""
    LEAVING = 5
    """Told to go; saves or has saved what is needed."""
    FINISHED = 6
    """All steps are done; it ends by itself."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """One moment of a worker."""

    stage: Stage = Stage.STARTING
    since: float = 0.0
    """When the stage began, by the machine's monotonic clock."""
    generation: int = 0
    """The membership it has joined last; 0 before the first."""
    step: int = 0
    """Updates that were applied to its model."""
    samples: int = 0
    """Samples of the whole job in those updates."""
    port: int = 0
    """Where its store listens; 0 before it does."""


class StatusPage:
    """The worker's side keeps it open and writes."""

    def __init__(self, path: str | Path) -> None:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.posix_fallocate(
                descriptor, 0, _SIZE
            )  # a full disk is told here; later it would be a fatal signal
            self._page = mmap.mmap(descriptor, _SIZE)
        finally:
            os.close(descriptor)
        # A word is stored at once, while a struct is filled with noughts before it gets its values.
        self._words = memoryview(self._page).cast("Q")
        self._count = 0

    def put(self, status: Status) -> None:
        """Show another moment."""
        self._count += 1
        room = _room(self._count % 2)
        last = (room + _BODY.size) // _LAST.size
        self._words[last] = 0  # first, or half of it might look whole
        _BODY.pack_into(
            self._page,
            room,
            self._count,
            status.generation,
            status.step,
            status.samples,
            status.since,
            status.port,
            int(status.stage),
        )
        self._words[last] = self._count
        self._words[1] = self._count
        self._words[0] = _MAGIC

    def close(self) -> None:
        """Let go; the file stays."""
        self._words.release()
        self._page.close()


def read_status(path: str | Path) -> Status | None:
    """What a worker shows; None before it has shown anything. Raises ValueError or OSError as `status_in` does."""
    path = Path(path)
    return status_in(UntrustedDirectory(path.parent), path.name)


def status_in(directory: UntrustedDirectory, name: str) -> Status | None:
    """What a worker shows; None before it has shown anything.

    Raises ValueError for a page that shows no possible moment, OSError if there is something else than a page.
    """
    for _ in range(_TRIES):
        reading = directory.read(name, _room(2))
        if reading.problem:
            raise OSError(reading.problem)
        page = reading.data
        if len(page) < _room(2) or _HEAD.unpack_from(page)[0] != _MAGIC:
            return None
        if (moment := _moment(page)) is not None:
            return moment
    return None  # it shows more moments than can be read; the next look will do


def _moment(page: bytes) -> Status | None:
    """The newest on a page; None if it was changed while we read it."""
    _, count = _HEAD.unpack_from(page)
    room = _room(count % 2)
    first, generation, step, samples, since, port, stage = _BODY.unpack_from(page, room)
    (last,) = _LAST.unpack_from(page, room + _BODY.size)
    if not first == last == count:
        return None
    return Status(
        stage=Stage(stage), since=since, generation=generation, step=step, samples=samples, port=port
    )


def _room(number: int) -> int:
    """Where the first or second begins; that of a third would begin where they end."""
    return _HEAD.size + number * (_BODY.size + _LAST.size)
