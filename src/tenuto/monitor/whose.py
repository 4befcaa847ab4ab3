"""Whose a process is: its job and worker, its user, its command. Nothing here ever fails; what is unknown is None."""

from __future__ import annotations

import os
import pwd
from dataclasses import dataclass, field

from tenuto.monitor.proc import read
from tenuto.wire import env

_LOOK_AGAIN = 10.0
"""Seconds after which a stranger is looked at again: a process gets its variables a moment after it begins."""
_ANCESTORS = 16
"""How far up a process without variables of ours is followed."""
_MOST_NAME = 64
_JOB = env.JOB_ID
_PARTS = (env.JOB_ID, env.GENERATION, env.ROLE, env.RANK)
"""Which make the name of a worker."""
_TELLING = frozenset((*_PARTS, env.WORKER))
_PARENT, _STARTED = 1, 19
"""Places in /proc/PID/stat, counted after the command's name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Owner:
    """Whom a process belongs to."""

    name: str | None = None
    user: str | None = None
    job: str | None = None
    worker: str | None = None


@dataclass(slots=True)
class _Known:
    started: bytes
    owner: Owner
    looked: float


@dataclass
class Whose:
    """Owners of processes. They are found out once; a pid that starts anew is another process."""

    proc: str = "/proc"
    _known: dict[int, _Known] = field(default_factory=dict)
    _users: dict[int, str] = field(default_factory=dict)

    def of(self, pid: int, now: float) -> Owner:
        """`now` is of a clock that nobody sets."""
        started = _stat(self.proc, pid, _STARTED)
        if started is None:
            self._known.pop(pid, None)
            return Owner()
        known = self._known.get(pid)
        if known is None or known.started != started or self._is_due(known, now):
            known = self._known[pid] = _Known(started, self._find_out(pid), now)
        return known.owner

    def forget_all_but(self, pids: set[int]) -> None:
        """Only these are of interest still."""
        for pid in self._known.keys() - pids:
            del self._known[pid]

    def _is_due(self, known: _Known, now: float) -> bool:
        return known.owner.job is None and now - known.looked >= _LOOK_AGAIN

    def _find_out(self, pid: int) -> Owner:
        job, worker = self._job_and_worker(pid)
        return Owner(name=_command(self.proc, pid), user=self._user(pid), job=job, worker=worker)

    def _job_and_worker(self, pid: int) -> tuple[str | None, str | None]:
        """As the variables say of the first process that has any, or of the last above it that is of the same job.

        Those below may have cleared them away, or have other ranks: whatever starts several processes gives them some.
        """
        job = worker = None
        for _ in range(_ANCESTORS):
            told = _ours(read(f"{self.proc}/{pid}/environ"))
            if job is not None and told.get(_JOB) != job:
                break
            if _JOB in told:
                job, worker = told[_JOB], _worker_in(told) or worker
            parent = int(_stat(self.proc, pid, _PARENT) or 0)
            if parent <= 1:
                break
            pid = parent
        return job, worker

    def _user(self, pid: int) -> str | None:
        try:
            number = os.stat(f"{self.proc}/{pid}").st_uid
        except OSError:
            return None
        if number not in self._users:
            self._users[number] = _user(number)
        return self._users[number]


def _user(number: int) -> str:
    try:
        return pwd.getpwuid(number).pw_name
    except (KeyError, OSError):
        return str(number)


def _stat(proc: str, pid: int, place: int) -> bytes | None:
    """One field of /proc/PID/stat; the command's name before them may contain anything."""
    fields = read(f"{proc}/{pid}/stat").rpartition(b")")[2].split()
    return fields[place] if len(fields) > place else None


def _command(proc: str, pid: int) -> str | None:
    """The program's name as it was called; kernels know the first letters of one that was not."""
    called = read(f"{proc}/{pid}/cmdline").partition(b"\0")[0] or read(f"{proc}/{pid}/comm").strip()
    return os.path.basename(called.decode(errors="replace"))[:_MOST_NAME] or None


def _ours(environ: bytes) -> dict[str, str]:
    """The variables that tell whose it is."""
    found: dict[str, str] = {}
    for entry in environ.split(b"\0"):
        name, _, value = entry.decode(errors="replace").partition("=")
        if value and name in _TELLING:
            found[name] = value
    return found


def _worker_in(told: dict[str, str]) -> str | None:
    """Only a worker that rescales in place is told its whole name."""
    if env.WORKER in told or any(part not in told for part in _PARTS):
        return told.get(env.WORKER)
    return ".".join(told[part] for part in _PARTS)
