"""Brings the output of workers to the server, a piece of each in turn, never more than a moment behind.

The server says which offset it wants next, so whichever side was away or forgot something, the log goes on where it
must. Parts of a log that the server has are deleted here.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from tenuto.engines.supervisor.link import Backoff
from tenuto.engines.supervisor.server import Away, Refused, SayHello, Server, Superseded
from tenuto.wire.worker import WorkerId

log = logging.getLogger(__name__)
CHUNK = 256 << 10
_TURN = 4
"""Pieces of one log before it is the next one's turn."""
_NEVER_WANTED = (413, 422)
"""Answers after which a piece is left out; whatever else is the matter may pass."""
_EVERY = 0.25
"""Seconds between two looks at the logs of running workers."""


class Parts:
    """A log on disk as the shim writes it."""

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

    def _starts(self) -> list[int]:
        try:
            return sorted(int(part.name) for part in self._directory.iterdir())
        except FileNotFoundError:
            return []

    def _piece(self, start: int, skip: int) -> bytes:
        try:
            with self._path(start).open("rb") as part:
                part.seek(skip)
                return part.read(CHUNK)
        except FileNotFoundError:
            return b""  # the shim needed the room

    def _path(self, start: int) -> Path:
        return self._directory / f"{start:020d}"


@dataclass(slots=True)
class _Upload:
    worker: WorkerId
    parts: Parts
    at: int = 0
    """The offset that the server wants next, as far as we know."""
    end: int | None = None
    """Where the log ends, once the worker has."""
    done: bool = False
    troubles: int = 0
    """How often in a row the server could not take a piece."""


class Uploads:
    """All logs of the node. One thread of its own."""

    def __init__(self, server: Server, node: str, wake: Callable[[], None]) -> None:
        self._server = server
        self._node = node
        self._wake = wake
        self._ended = threading.Event()
        self._changed = threading.Condition()
        self._uploads: dict[WorkerId, _Upload] = {}

    def start(self) -> None:
        """Begin."""
        threading.Thread(target=self._run, daemon=True, name="uploads").start()

    def end(self) -> None:
        """Stop after the piece that is on its way."""
        self._ended.set()
        with self._changed:
            self._changed.notify_all()

    def add(self, worker: WorkerId, directory: Path) -> None:
        """A worker whose log is to be brought over."""
        with self._changed:
            self._uploads[worker] = _Upload(worker, Parts(directory))
            self._changed.notify_all()

    def finish(self, worker: WorkerId, end: int) -> None:
        """The log will not grow beyond its end."""
        with self._changed:
            self._uploads[worker].end = end
            self._changed.notify_all()

    def is_done(self, worker: WorkerId) -> bool:
        """Whether the server has all that there is."""
        return self._uploads[worker].done

    def forget(self, worker: WorkerId) -> None:
        """The log is about to be deleted."""
        with self._changed:
            self._uploads.pop(worker, None)

    def _run(self) -> None:
        backoff = Backoff(self._server, self._ended)
        while not self._ended.is_set():
            try:
                busy = [self._advance(upload) for upload in self._open_uploads()]
            except (Away, SayHello, Superseded):
                backoff.wait()
            except Exception:
                log.exception("this is a fault of tenuto; the supervisor goes on")
                backoff.wait()
            else:
                backoff.reset()
                if not any(busy):
                    self._rest()

    def _open_uploads(self) -> list[_Upload]:
        """Those that had trouble come last, so that they do not keep the others waiting."""
        with self._changed:
            open_ones = [upload for upload in self._uploads.values() if not upload.done]
        return sorted(open_ones, key=lambda upload: upload.troubles)

    def _rest(self) -> None:
        """Wait a moment if some worker may be printing, or until there is one."""
        with self._changed:
            open_ones = any(not upload.done for upload in self._uploads.values())
            self._changed.wait(_EVERY if open_ones else None)

    def _advance(self, upload: _Upload) -> bool:
        """Bring over some pieces; False if there is nothing more to bring now."""
        for _ in range(_TURN):
            ended = upload.end is not None  # asked first: what is read afterwards is then the whole
            begin, data = upload.parts.read(upload.at)
            if not data:
                if ended:
                    self._complete(upload)
                return False
            self._send(upload, begin, data)
        return True

    def _send(self, upload: _Upload, begin: int, data: bytes) -> None:
        upload.troubles += 1
        try:
            wanted = self._server.put_log(self._node, upload.worker, begin, data)
        except Refused as error:
            if error.status not in _NEVER_WANTED:
                raise Away(str(error)) from None
            log.warning("a piece of the log of %s is not wanted: %s", upload.worker, error)
            wanted = begin + len(data)
        if wanted <= upload.at < begin:
            log.warning("the server wants bytes of the log of %s that are gone", upload.worker)
            self._complete(upload)
        upload.at, upload.troubles = wanted, 0
        upload.parts.drop_before(wanted)

    def _complete(self, upload: _Upload) -> None:
        """Nothing is left that could be brought."""
        upload.done = True
        self._wake()
