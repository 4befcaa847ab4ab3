"""The directory of one worker: its order, its processes, its end, its report. The worker can change all of it."""

from __future__ import annotations

import fcntl
import json
import math
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, TypeGuard

from tenuto.engines.identity import ProcessIdentity
from tenuto.engines.supervisor.shim.files import MAX_JSON_BYTES, parse_json, write_whole
from tenuto.engines.supervisor.shim.log import Log
from tenuto.wire.codec import decode
from tenuto.wire.untrusted_files import MAX_OFFSET, UntrustedDirectory, part_name
from tenuto.wire.worker import ExitReason, WorkerOrder

_REPORT = "report"
_REPORT_TAIL = 1 << 16
_MOST_NUMBERS = 50
_LARGEST = 1e300
_MOST_NAME_CHARACTERS = 100
"""Of a number that a worker reports."""
_MOST_MESSAGE_CHARACTERS = 2000
_MOST_PID = 1 << 22
"""Linux gives no higher one."""
_COMPLAINT_BYTES = 1 << 14


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
    """The directory of one worker. The worker's own code can change everything in it (`wire.untrusted_files`)."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.untrusted = UntrustedDirectory(directory.parent, directory.name)
        self.log = directory / "log"
        self.link = directory / "link"
        self.news = directory / "news"
        self.problem = ""
        """What was wrong with the file that was read last, if it was not usable."""

    @property
    def name(self) -> str:
        """What a shim calls when it rings."""
        return self.directory.name

    def order(self) -> tuple[WorkerOrder, str] | None:
        """What was ordered and at which boot of the machine; None if the record was never finished.

        Raises ValueError if it cannot be read: the supervisor wrote it, so it was changed by the worker.
        """
        task = self._json("order.json")
        if task is None and not self.problem:
            return None
        if not isinstance(task, dict) or not isinstance(task.get("boot"), str):
            raise ValueError(self.problem or f"{self.directory}/order.json is no order")  # noqa: TRY004 - of a file
        return decode(WorkerOrder, json.dumps(task.get("order")).encode()), task["boot"]

    def running(self) -> Running | None:
        """Who the shim and the worker are; None before the shim has said so."""
        written = self._json("shim.json")
        shim = _process(written)
        if shim is None:
            return None
        worker = written["worker"] if isinstance(written.get("worker"), dict) else {}
        at, code = worker.get("at"), worker.get("exit_code")
        return Running(
            shim=shim,
            worker=_process(worker),
            started_at=float(at) if _is_number(at) else None,
            exit_code=code if _is_whole(code, 0, 256) else None,
        )

    def exit(self) -> Exit | None:
        """How it ended; None if that is not known."""
        written = self._json("exit.json")
        if not isinstance(written, dict):
            return None
        if problem := _lacks(written):
            self.problem = f"{self.directory}/exit.json does not say how the worker ended: {problem}"
            return None
        return Exit(
            exit_code=written["exit_code"],
            reason=ExitReason(written["reason"]),
            message=printable(str(written.get("message") or ""), _MOST_MESSAGE_CHARACTERS),
            ended_at=float(written["ended_at"]),
            log_bytes=written["log_bytes"],
        )

    def write_exit(self, end: Exit) -> None:
        """Say how it ended, in place of a shim that could not."""
        write_whole(str(self.directory / "exit.json"), asdict(end), durable=True)

    def is_to_stop(self) -> bool:
        """Whether it was told to end."""
        return self._json("stop.json") is not None

    def write_stop(self, reason: ExitReason, message: str, grace: float, *, quiet: bool = False) -> None:
        """Tell the shim why it shall end the worker; it looks when it gets SIGTERM.

        `quiet`: the worker knows already, and whatever it started must not be disturbed before it goes by itself.
        """
        told = {"reason": reason, "message": message, "grace": grace, "quiet": quiet}
        write_whole(str(self.directory / "stop.json"), told)

    def take_lock(self) -> int | None:
        """The lock that a shim holds while it lives; None while one does. Raises OSError."""
        return take_lock(self.directory / "lock")

    def shim_lives(self, known: ProcessIdentity | None = None) -> bool:
        """Whether there is a shim, or one is about to begin: by its lock, or by its process if the lock was deleted.

        `known` is the shim, if that is known already; what is written in the directory may be false by now.
        """
        try:
            lock = take_lock(self.directory / "lock", make=False)
        except OSError:
            written = self.running() if known is None else None
            shim = known if written is None else written.shim
            return shim is not None and shim.alive()
        if lock is not None:
            os.close(lock)
        return lock is None

    def shim_complaint(self) -> str:
        """The last line that the shim itself printed; it prints only when it breaks."""
        data = self.untrusted.read("shim.err", _COMPLAINT_BYTES, -_COMPLAINT_BYTES).data
        lines = data.decode(errors="replace").splitlines()
        return printable(lines[-1], _MOST_MESSAGE_CHARACTERS) if lines else ""

    def add_to_log(self, line: str) -> int:
        """Put a line of our own at the end of the log of a worker that is gone; where the log ends then."""
        log_parts = self.untrusted.below("log")
        starts, _ = log_parts.part_starts()
        end = starts[-1] + log_parts.stamp(part_name(starts[-1]))[1] if starts else 0
        log = Log(str(self.log), keep=1, offset=end)
        log.line(line)
        return log.offset

    def report_stamp(self) -> tuple[int, int]:
        """Changes when the worker reports."""
        return self.untrusted.stamp(_REPORT)

    def report(self) -> Progress | None:
        """The last complete line of the worker's report that is a JSON object; None if there is none.

        The file is the worker's own: whatever it makes of it, the supervisor goes on.
        """
        reading = self.untrusted.read(_REPORT, _REPORT_TAIL, -_REPORT_TAIL)
        self.problem = reading.problem or self.problem
        *lines, _ = reading.data.split(b"\n")
        for line in reversed(lines):
            if (progress := _progress(line)) is not None:
                return progress
        return None

    def take_problem(self) -> str:
        """What was wrong with the files that were read since the last call, if anything."""
        problem, self.problem = self.problem, ""
        return problem

    def _json(self, name: str) -> Any:
        """The value in a file; None if there is none, and `problem` says so if there should be one."""
        reading = self.untrusted.read_whole(name, MAX_JSON_BYTES)
        value = parse_json(reading.data)
        if reading.problem:
            self.problem = reading.problem
        elif value is None and reading.data:
            self.problem = f"{self.directory}/{name} is not readable JSON"
        return value


def take_lock(path: Path, *, make: bool = True) -> int | None:
    """Take a lock that goes with the process; None if another one has it. Raises OSError."""
    flags = os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW | (os.O_CREAT if make else 0)
    lock = os.open(path, flags, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        return None
    return lock


def _progress(line: bytes) -> Progress | None:
    written = parse_json(line)
    if not isinstance(written, dict):
        return None
    numbers = {key: float(value) for key, value in written.items() if _is_number(value) and _is_name(key)}
    step = numbers.pop("step", None)
    return Progress(step, dict(list(numbers.items())[:_MOST_NUMBERS]))


def _is_number(value: object) -> TypeGuard[int | float]:
    """A finite number of a size that every reader can hold."""
    return (
        isinstance(value, int | float)
        and not isinstance(value, bool)
        and not (isinstance(value, float) and math.isnan(value))
        and abs(value) < _LARGEST
    )


def _is_name(key: str) -> bool:
    """Whether it can be sent and shown: no half of a surrogate pair, no control character."""
    return 0 < len(key) <= _MOST_NAME_CHARACTERS and key.isprintable()


def _lacks(written: dict[str, Any]) -> str:
    """The field of an exit record that is missing or impossible; empty if all are there."""
    code, reason = written.get("exit_code"), written.get("reason")
    checks = {
        "exit_code": "exit_code" in written and (code is None or _is_whole(code, 0, 256)),
        "reason": isinstance(reason, str) and reason in set(ExitReason),
        "ended_at": _is_number(written.get("ended_at")),
        "log_bytes": _is_whole(written.get("log_bytes"), 0, MAX_OFFSET),
    }
    return next((name for name, fine in checks.items() if not fine), "")


def _is_whole(value: object, least: int, below: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value < below


def _process(written: object) -> ProcessIdentity | None:
    """A process as a shim wrote it down; None if that is none. Never one that must not get a signal."""
    if not isinstance(written, dict):
        return None
    pid, started = written.get("pid"), written.get("started")
    if not _is_whole(pid, 2, _MOST_PID + 1) or not isinstance(started, str):
        return None
    return ProcessIdentity(pid, started)  # type: ignore[arg-type]


def printable(text: str, most: int) -> str:
    """Text from outside as it may be sent and shown: a `?` for each character that is not printable."""
    return "".join(letter if letter.isprintable() else "?" for letter in text[:most])
