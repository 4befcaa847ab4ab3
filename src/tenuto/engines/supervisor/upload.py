"""Brings what workers print and tell to the server, a piece of each in turn, never more than a moment behind.

The server says which offset it wants next, so whichever side was away or forgot something, the log goes on where it
must. Parts of a log that the server has are deleted here. Records (`record_upload`) go the same way.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from tenuto.engines.supervisor.isolation import Failures
from tenuto.engines.supervisor.link import Backoff
from tenuto.engines.supervisor.news import TOLD, Echo
from tenuto.engines.supervisor.parts import Parts
from tenuto.engines.supervisor.record_upload import (
    MOST_REFUSALS,
    NEVER_WANTED,
    NOT_ALLOWED,
    NOT_YOURS,
    RecordUpload,
)
from tenuto.engines.supervisor.server import Away, Refused, SayHello, Server, Superseded
from tenuto.engines.supervisor.worker_files import WorkerFiles
from tenuto.wire.membership import STEPS
from tenuto.wire.node import Hello
from tenuto.wire.worker import WORKER, WorkerId, WorkerOrder

log = logging.getLogger(__name__)
_TURN = 4
"""Pieces of one log before it is the next one's turn."""
_LATER = (408, 425, 429, 502, 503, 504)
"""Answers that say nothing about what was sent: the server, or what stands before it, has no time."""
_EVERY = 0.25
"""Seconds between two looks at the logs of running workers."""


@dataclass(slots=True)
class _Upload:
    worker: WorkerId
    parts: Parts
    at: int = 0
    """The offset that the server wants next, as far as we know."""
    end: int | None = None
    """Where the log ends, once the worker has."""
    log_done: bool = False
    refusals: int = 0
    """How often in a row the server has not taken the next piece of the log."""
    failures: Failures = field(default_factory=lambda: Failures("a worker"))
    records: tuple[RecordUpload, ...] = ()
    echo: Echo | None = None
    """Makes records for a worker that makes none itself."""

    @property
    def done(self) -> bool:
        """Whether the server has all that there is."""
        return self.log_done and all(stream.done for stream in self.records)

    @property
    def file_problem(self) -> str:
        """What is wrong with the files of the worker."""
        problems = [self.parts.problem, *(stream.problem for stream in self.records)]
        return next(filter(None, problems), "")


class Uploads:
    """All logs and records of the node. One thread of its own."""

    def __init__(self, server: Server, hello: Hello, wake: Callable[[], None]) -> None:
        self._server = server
        self._hello = hello
        self.node = hello.node
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

    def add(self, order: WorkerOrder, files: WorkerFiles) -> None:
        """A worker whose log and records are to be brought over."""
        upload = _upload(order, files)
        with self._changed:
            self._uploads[order.id] = upload
            self._changed.notify_all()

    def finish(self, worker: WorkerId, end: int) -> None:
        """The log will not grow beyond its end, and nothing more is told."""
        with self._changed:
            self._uploads[worker].end = end
            self._changed.notify_all()

    def is_done(self, worker: WorkerId) -> bool:
        """Whether the server has all that there is."""
        return self._uploads[worker].done

    def problem(self, worker: WorkerId) -> str:
        """What keeps its log or records from being brought over; empty if nothing does."""
        return self._uploads[worker].failures.problem

    def forget(self, worker: WorkerId) -> None:
        """The log is about to be deleted."""
        with self._changed:
            self._uploads.pop(worker, None)

    def _run(self) -> None:
        backoff = Backoff(self._server, self._ended)
        while not self._ended.is_set():
            try:
                busy = [self._advance_alone(upload) for upload in self._open_uploads()]
            except (Away, SayHello, Superseded):
                backoff.wait()
            else:
                backoff.reset()
                if not any(busy):
                    self._rest()

    def _open_uploads(self) -> list[_Upload]:
        """Those that may be tried now; those that failed come last, so that they do not keep the others waiting."""
        now = time.monotonic()
        with self._changed:
            open_ones = [upload for upload in self._uploads.values() if not upload.done]
        due = [upload for upload in open_ones if upload.failures.is_due(now)]
        return sorted(due, key=lambda upload: upload.failures.count)

    def _advance_alone(self, upload: _Upload) -> bool:
        """Bring over some of one worker's; its failure is its own. Raises only if the server is not there at all."""
        try:
            busy = self._advance(upload)
        except (SayHello, Superseded):
            raise
        except Away as failure:
            if failure.status is None or failure.status in _LATER:
                raise
            upload.failures.failed(str(failure))
        except Exception as error:
            log.exception("this is a fault of tenuto; the uploads of other workers go on")
            upload.failures.failed(f"{type(error).__name__}: {error}")
        else:
            upload.failures.succeeded()
            upload.failures.note(upload.file_problem)
            return busy
        return False

    def _rest(self) -> None:
        """Wait a moment if some worker may be printing, or until there is one."""
        with self._changed:
            open_ones = any(not upload.done for upload in self._uploads.values())
            self._changed.wait(_EVERY if open_ones else None)

    def _advance(self, upload: _Upload) -> bool:
        """Bring over some pieces of everything; False if there is nothing more to bring now."""
        busy = False if upload.log_done else self._advance_log(upload)
        ended = upload.end is not None  # asked first, as with the log
        if upload.echo is not None:
            upload.echo.look(ended=ended)
        for stream in upload.records:
            busy |= not stream.done and stream.advance(self._server, ended=ended)
        if upload.done:
            self._wake()
        return busy

    def _advance_log(self, upload: _Upload) -> bool:
        for _ in range(_TURN):
            ended = upload.end is not None  # asked first: what is read afterwards is then the whole
            begin, data = upload.parts.read(upload.at)
            if not data:
                upload.log_done = ended
                return False
            self._send(upload, begin, data)
            if upload.log_done:
                return False
        return True

    def _send(self, upload: _Upload, begin: int, data: bytes) -> None:
        try:
            wanted = self._server.put_log(self._hello, upload.worker, begin, data)
        except Refused as error:
            if error.why.code == NOT_YOURS:
                log.warning("the log of %s is given up: %s", upload.worker, error)
                upload.log_done = True
                return
            upload.refusals += error.status not in NOT_ALLOWED
            if error.status not in NEVER_WANTED and upload.refusals < MOST_REFUSALS:
                raise Away(str(error), error.status) from None
            log.warning(
                "a piece of the log of %s is left out, because the server refuses it: %s",
                upload.worker,
                error,
            )
            wanted = begin + len(data)
        if wanted <= upload.at < begin:
            log.warning("the server wants bytes of the log of %s that are gone", upload.worker)
            upload.log_done = True
        upload.at, upload.refusals = wanted, 0
        upload.parts.drop_before(wanted)


def _upload(order: WorkerOrder, files: WorkerFiles) -> _Upload:
    """What there will be to bring over of a worker; one that is linked tells its steps itself."""
    written = files.untrusted.below("link", STEPS) if order.linked else files.untrusted.below(TOLD)
    return _Upload(
        order.id,
        Parts(files.untrusted.below(files.log.name)),
        records=(
            RecordUpload(order.id, "worker", written),
            RecordUpload(order.id, "supervisor", files.untrusted.below(files.news.name)),
        ),
        failures=Failures(f"uploads of {order.id}"),
        echo=None if order.linked or order.id.role != WORKER else Echo(order, files),
    )
