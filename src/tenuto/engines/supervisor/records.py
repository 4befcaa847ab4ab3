"""What a supervisor keeps on disk, so that one that was killed can go on where it was.

DIR/lock                      held while a supervisor runs here
DIR/bell                      a pipe on which shims ring when something has changed
DIR/supervisor.json           who the supervisor is: its pid and start
DIR/left                      it was told to leave, and has left
DIR/state.json                the newest orders that were obeyed, and the server's settings
DIR/setup/JOB/                whether the job's setup was done here
DIR/workers/WORKER/           order.json: what was ordered; lock: held while the shim lives; shim.json: which processes
                              run; stop.json: why it shall end; exit.json: how it ended; report; log/OFFSET;
                              link/: shared with the worker (see `wire.membership`); news/: what we tell of it
DIR/crews/JOB.json            who trains together, of jobs that rescale in place
DIR/trash/                    what is being deleted

Every file is replaced as a whole; what must outlive a loss of power is flushed to the disk.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from tenuto.atomic_file import remove_leftovers
from tenuto.engines.identity import ProcessIdentity
from tenuto.engines.supervisor.shim.files import boot, read_whole, write_whole
from tenuto.engines.supervisor.shim.log import Log
from tenuto.errors import Conflict
from tenuto.model.node import Slot
from tenuto.wire.codec import decode, encode
from tenuto.wire.credential_file import erase_credential
from tenuto.wire.worker import ExitReason, WorkerOrder

WHO = "supervisor.json"
LEFT = "left"
_REPORT_TAIL = 1 << 16
_MOST_NUMBERS = 50
_LARGEST = 1e300
_SETUPS = 1000
"""So many jobs are remembered whose setup was done here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What a supervisor remembers beyond its workers."""

    term: int = 0
    version: int = 0
    """Of the newest orders that were obeyed."""
    dead_man: float | None = None
    spool_bytes: int = 256 << 20
    heartbeat: float = 2.0
    session: str = ""
    slots: tuple[Slot, ...] = ()
    """What the node had to offer when a supervisor last looked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Exit:
    """How a worker ended."""

    exit_code: int | None
    reason: ExitReason
    message: str
    ended_at: float
    log_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Running:
    """The processes of a worker."""

    shim: ProcessIdentity
    worker: ProcessIdentity | None = None
    """None while it waits for its setup."""
    started_at: float | None = None
    exit_code: int | None = None
    """As soon as the worker itself has gone; what it started may still be there."""


@dataclass(frozen=True, slots=True)
class Progress:
    """What a worker reported last."""

    step: float | None
    data: dict[str, float]


class WorkerFiles:
    """The directory of one worker."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.log = directory / "log"
        self.link = directory / "link"
        self.news = directory / "news"
        self._report = directory / "report"

    @property
    def name(self) -> str:
        """What a shim calls when it rings."""
        return self.directory.name

    def order(self) -> tuple[WorkerOrder, str] | None:
        """What was ordered and at which boot of the machine; None if the record was never finished."""
        task = read_whole(str(self.directory / "order.json"))
        if task is None:
            return None
        return decode(WorkerOrder, json.dumps(task["order"]).encode()), task["boot"]

    def running(self) -> Running | None:
        """Who the shim and the worker are; None before the shim has said so."""
        told = read_whole(str(self.directory / "shim.json"))
        if told is None:
            return None
        worker = told["worker"]
        return Running(
            shim=ProcessIdentity(told["pid"], told["started"]),
            worker=None if worker is None else ProcessIdentity(worker["pid"], worker["started"]),
            started_at=None if worker is None else worker["at"],
            exit_code=None if worker is None else worker.get("exit_code"),
        )

    def exit(self) -> Exit | None:
        """How it ended; None if that is not known."""
        told = read_whole(str(self.directory / "exit.json"))
        return None if told is None else Exit(**{**told, "reason": ExitReason(told["reason"])})

    def write_exit(self, end: Exit) -> None:
        """Say how it ended, in place of a shim that could not."""
        write_whole(str(self.directory / "exit.json"), asdict(end), durable=True)

    def stop(self) -> dict[str, Any] | None:
        """Why it shall end, if it shall."""
        told: dict[str, Any] | None = read_whole(str(self.directory / "stop.json"))
        return told

    def write_stop(self, reason: ExitReason, message: str, grace: float, *, quiet: bool = False) -> None:
        """Tell the shim why it shall end the worker; it looks when it gets SIGTERM.

        `quiet`: the worker knows already, and whatever it started must not be disturbed before it goes by itself.
        """
        told = {"reason": reason, "message": message, "grace": grace, "quiet": quiet}
        write_whole(str(self.directory / "stop.json"), told)

    def take_lock(self) -> int | None:
        """The lock that a shim holds while it lives; None while one does."""
        return _take_lock(self.directory / "lock")

    def shim_lives(self) -> bool:
        """Whether there is a shim, or one is about to begin."""
        lock = self.take_lock()
        if lock is not None:
            os.close(lock)
        return lock is None

    def shim_complaint(self) -> str:
        """The last line that the shim itself printed; it prints only when it breaks."""
        try:
            lines = (self.directory / "shim.err").read_text(encoding="utf-8", errors="replace").splitlines()
        except FileNotFoundError:
            return ""
        return lines[-1] if lines else ""

    def add_to_log(self, line: str) -> int:
        """Put a line of our own at the end of the log of a worker that is gone; where the log ends then."""
        parts = sorted(self.log.iterdir()) if self.log.is_dir() else []
        end = int(parts[-1].name) + parts[-1].stat().st_size if parts else 0
        log = Log(str(self.log), keep=1, offset=end)
        log.line(line)
        return log.offset

    def report_stamp(self) -> tuple[int, int]:
        """Changes when the worker reports."""
        try:
            found = self._report.stat()
        except OSError:
            return (0, 0)
        return (found.st_mtime_ns, found.st_size)

    def report(self) -> Progress | None:
        """The last complete line of the worker's report that is a JSON object; None if there is none.

        The file is the worker's own: whatever it makes of it, the supervisor goes on.
        """
        try:
            # Without waiting: it might be a pipe.
            with os.fdopen(os.open(self._report, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - _REPORT_TAIL))
                *lines, _ = file.read(_REPORT_TAIL).split(b"\n")
        except OSError:
            return None
        for line in reversed(lines):
            if (progress := _progress(line)) is not None:
                return progress
        return None


class Records:
    """All of a supervisor's files. Opening them takes the directory's lock."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory.absolute()
        for part in (self.directory, self._workers, self._setups, self._trash):
            part.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = _take_lock(self.directory / "lock")
        if lock is None:
            raise Conflict(
                f"another supervisor is at work in {self.directory}",
                code="directory_in_use",
                remedy="Give this one a directory of its own, or end the other one first",
            )
        self._lock = lock
        self.bell = self.directory / "bell"
        if not self.bell.is_fifo():
            os.mkfifo(self.bell, mode=0o600)
        self._empty_trash()
        self._prune_setups()
        self._remove_leftovers()
        self.state = _read_state(self.directory / "state.json")

    @property
    def _workers(self) -> Path:
        return self.directory / "workers"

    @property
    def _setups(self) -> Path:
        return self.directory / "setup"

    @property
    def crews(self) -> Path:
        """Where crews are remembered (`crews.notes`)."""
        return self.directory / "crews"

    @property
    def _trash(self) -> Path:
        return self.directory / "trash"

    def close(self) -> None:
        """Let another supervisor have the directory."""
        os.close(self._lock)

    def remember(self, **changes: Any) -> None:
        """Change the state, on disk before anything is done about it."""
        state = replace(self.state, **changes)
        if state != self.state:
            write_whole(str(self.directory / "state.json"), asdict(state), durable=True)
            self.state = state

    def workers(self) -> Iterator[WorkerFiles]:
        """Every worker that has a record."""
        for directory in sorted(self._workers.iterdir()):
            yield WorkerFiles(directory)

    def add(self, order: WorkerOrder) -> WorkerFiles:
        """Write down what is about to be started."""
        files = WorkerFiles(self._workers / _file_name(str(order.id)))
        files.directory.mkdir(mode=0o700, exist_ok=True)  # left without an order when the disk was full
        if order.linked:
            files.link.mkdir(mode=0o700, exist_ok=True)
        task = {
            "order": json.loads(encode(order)),
            "boot": boot(),
            "spool_bytes": self.state.spool_bytes,
            "setup_dir": str(self._setups / _file_name(order.id.job)),
            "bell": str(self.bell),
        }
        write_whole(str(files.directory / "order.json"), task, durable=True)
        return files

    def is_set_up(self, order: WorkerOrder) -> bool:
        """Whether nothing needs to be done here before the worker starts."""
        return not order.setup or (self._setups / _file_name(order.id.job) / "done").exists()

    def forget(self, files: WorkerFiles) -> None:
        """Delete a worker's record, all at once as far as anybody can see."""
        files.directory.rename(self._trash / f"{files.name}.{time.monotonic_ns()}")
        self._empty_trash()

    def sign_in(self) -> None:
        """Let others see who is at work here."""
        me = ProcessIdentity.of(os.getpid())
        assert me is not None
        (self.directory / LEFT).unlink(missing_ok=True)
        write_whole(str(self.directory / WHO), asdict(me))

    def erase(self) -> None:
        """Leave nothing but the note that the supervisor has left."""
        for part in (self._workers, self._setups, self.crews, self._trash):
            shutil.rmtree(part, ignore_errors=True)
        for name in ("state.json", "bell", "lock", WHO):
            (self.directory / name).unlink(missing_ok=True)
        erase_credential(self.directory)
        remove_leftovers(str(self.directory))
        (self.directory / LEFT).touch(mode=0o600)

    def _empty_trash(self) -> None:
        for rest in self._trash.iterdir():
            shutil.rmtree(rest, ignore_errors=True)

    def _remove_leftovers(self) -> None:
        """Delete temporary files of supervisors and shims that were killed while they replaced a file."""
        for directory in (self.directory, self.crews):
            remove_leftovers(str(directory))
        for worker in self.workers():
            for directory in (worker.directory, worker.link):
                remove_leftovers(str(directory))

    def _prune_setups(self) -> None:
        oldest_first = sorted(self._setups.iterdir(), key=lambda place: place.stat().st_mtime)
        for place in oldest_first[:-_SETUPS]:
            shutil.rmtree(place, ignore_errors=True)


def _file_name(text: str) -> str:
    return quote(text, safe="")


def _take_lock(path: Path) -> int | None:
    lock = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        return None
    return lock


def _read_state(path: Path) -> State:
    known = set(State.__dataclass_fields__) - {"slots"}
    told = read_whole(str(path)) or {}
    slots = tuple(Slot(device=one["device"], kind=one["kind"]) for one in told.get("slots", ()))
    return State(**{key: value for key, value in told.items() if key in known}, slots=slots)


def _progress(line: bytes) -> Progress | None:
    try:
        told = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(told, dict):
        return None
    numbers = {str(key): float(value) for key, value in told.items() if _is_number(value)}
    step = numbers.pop("step", None)
    return Progress(step, dict(list(numbers.items())[:_MOST_NUMBERS]))


def _is_number(value: object) -> bool:
    """Something that goes over the wire as a number; a loss may well be NaN."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < _LARGEST
