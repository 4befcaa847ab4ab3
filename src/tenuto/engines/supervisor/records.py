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

import json
import logging
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
from tenuto.engines.supervisor.worker_files import WorkerFiles, take_lock
from tenuto.errors import Conflict
from tenuto.model.node import Slot
from tenuto.wire.codec import encode
from tenuto.wire.credential_file import erase_credential
from tenuto.wire.worker import WorkerOrder

log = logging.getLogger(__name__)
WHO = "supervisor.json"
LEFT = "left"
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
    inherit: str = ""
    """Names of variables that workers inherit besides the usual ones (`worker_environment`)."""
    session: str = ""
    resume: str = ""
    """What shows the server that a supervisor that starts here follows the one before; see `wire.node.Hello`."""
    slots: tuple[Slot, ...] = ()
    """What the node had to offer when a supervisor last looked."""


class Records:
    """All of a supervisor's files. Opening them takes the directory's lock."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory.absolute()
        for part in (self.directory, self._workers, self._setups, self._trash):
            part.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = take_lock(self.directory / "lock")
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

    def is_lost(self) -> bool:
        """Whether the directory was deleted, moved or replaced: the lock that is held is not the one in it any more.

        A disk that cannot be read now says nothing about that.
        """
        ours = os.fstat(self._lock)
        try:
            there = (self.directory / "lock").lstat()
        except (FileNotFoundError, NotADirectoryError):
            return True
        except OSError:
            return False
        return (there.st_dev, there.st_ino) != (ours.st_dev, ours.st_ino)

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


def _read_state(path: Path) -> State:
    known = set(State.__dataclass_fields__) - {"slots"}
    try:
        told = read_whole(str(path)) or {}
        slots = tuple(Slot(device=one["device"], kind=one["kind"]) for one in told.get("slots", ()))
        return State(**{key: value for key, value in told.items() if key in known}, slots=slots)
    except (OSError, LookupError, TypeError, AttributeError) as error:
        log.warning("%s cannot be read, so the supervisor begins anew: %s", path, error)
        return State()
