"""Keeps this machine's supervisors alive for as long as the server lives.

A supervisor is a process of its own, in a session of its own: it goes on when the server ends, and the next
server finds it by what it wrote into its directory. One that died is started again, ever more slowly if it keeps
dying, until it has left by order (it then leaves a file behind that says so).
"""

from __future__ import annotations

import json
import logging
import os
import signal
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread
from time import monotonic, sleep

from tenuto.engines.identity import ProcessIdentity

log = logging.getLogger(__name__)

MODULE = "tenuto.engines.supervisor"
WHO = "supervisor.json"
"""In a supervisor's directory: its pid and start, written by itself."""
LEFT = "left"
"""In a supervisor's directory: it has left by order, and shall not be started again."""
LOG = "supervisor.log"
LOG_BYTES = 4 << 20
"""How long that log may become before it is set aside as `supervisor.old.log`."""
_LOOK = 0.25
"""Seconds between two looks at the supervisors."""
_HEALTHY = 10.0
"""A supervisor that lived so many seconds is started again at once."""
_SLOWEST = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LocalNode:
    """A node on this machine."""

    name: str
    directory: Path
    """Its supervisor's own."""
    slots: int | None = None
    """So many CPU slots; None for the machine's GPUs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WayIn:
    """Where supervisors learn where the server is, and with what they are let in."""

    server_file: Path
    provide: Callable[[str, Path], None]
    """Makes sure that a node has a valid credential in its supervisor's directory; called before each start."""


@dataclass(slots=True)
class _Watched:
    node: LocalNode
    argv: tuple[str, ...]
    process: ProcessIdentity | None = None
    started: float = 0.0
    deaths: int = 0
    """In a row, each soon after a start."""
    not_before: float = 0.0
    replaced: set[int] = field(default_factory=set)
    """Survivors that were told to make way for one with other options."""


class Keeper:
    """One supervisor for each of the nodes."""

    def __init__(self, nodes: Sequence[LocalNode], way_in: WayIn) -> None:
        self._provide = way_in.provide
        self._watched = {node.name: _Watched(node, _command(node, way_in)) for node in nodes}
        self._enough = Event()
        self._thread = Thread(target=self._watch, name="keeper of supervisors", daemon=True)

    def start(self) -> None:
        """Start or find all supervisors, and watch over them from now on."""
        for watched in self._watched.values():
            watched.node.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            (watched.node.directory / LEFT).unlink(missing_ok=True)
            self._provide(watched.node.name, watched.node.directory)  # survivors read it when they say hello
            self._look_after(watched)
        self._thread.start()

    def stop_watching(self) -> None:
        """Leave the supervisors to themselves; they go on."""
        self._enough.set()
        if self._thread.is_alive():
            self._thread.join()

    def ended(self, names: Iterable[str], timeout: float) -> list[str]:
        """Wait until these supervisors have left by order and are gone; returns those that did not in time."""
        give_up = monotonic() + timeout
        waiting = [self._watched[name] for name in names]
        while (waiting := [one for one in waiting if not _gone(one)]) and monotonic() < give_up:
            sleep(_LOOK)
        return [watched.node.name for watched in waiting]

    def process(self, name: str) -> ProcessIdentity | None:
        """The node's supervisor as it was at the last look."""
        return self._watched[name].process

    def _watch(self) -> None:
        while not self._enough.wait(_LOOK):
            for watched in self._watched.values():
                try:
                    self._look_after(watched)
                except Exception:  # such as too many processes: whatever it is may pass
                    log.exception("the supervisor of %s cannot be started", watched.node.name)
                    watched.not_before = monotonic() + _SLOWEST

    def _look_after(self, watched: _Watched) -> None:
        now = monotonic()
        keep_short(watched.node.directory / LOG)
        if watched.process is not None and not _alive(watched.process):
            _count_death(watched, now)
        if watched.process is None:
            watched.process = _survivor(watched)
        if watched.process is not None or _has_left(watched):
            return
        if now >= watched.not_before:
            watched.node.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._provide(watched.node.name, watched.node.directory)
            watched.process = _spawn(watched)
            watched.started = now


def _command(node: LocalNode, way_in: WayIn) -> tuple[str, ...]:
    slots = () if node.slots is None else ("--slots", str(node.slots))
    return (
        sys.executable,
        "-P",  # whatever lies in the current directory is no part of the supervisor
        "-m",
        MODULE,
        "--dir",
        str(node.directory),
        "--node",
        node.name,
        "--server-file",
        str(way_in.server_file),
        *slots,
    )


def _spawn(watched: _Watched) -> ProcessIdentity | None:
    """Start a supervisor in a session of its own, so that no key pressed here reaches it."""
    watched.node.directory.mkdir(
        mode=0o700, parents=True, exist_ok=True
    )  # it may have been deleted meanwhile
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    pid = os.posix_spawn(
        watched.argv[0],
        watched.argv,
        os.environ,
        file_actions=[
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, str(watched.node.directory / LOG), flags, 0o600),
            (os.POSIX_SPAWN_DUP2, 1, 2),
        ],
        setsid=True,
        setsigmask=(),
    )
    return ProcessIdentity.of(pid) or ProcessIdentity(pid, "gone before it could be looked at")


def _survivor(watched: _Watched) -> ProcessIdentity | None:
    """A supervisor that was here before us; one with other options is asked to make way, and waited for."""
    try:
        written = json.loads((watched.node.directory / WHO).read_bytes())
        found = ProcessIdentity(int(written["pid"]), str(written["started"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if not found.alive():
        return None
    if _argv(found.pid) != watched.argv and found.pid not in watched.replaced:
        watched.replaced.add(found.pid)
        with suppress(ProcessLookupError):
            os.kill(found.pid, signal.SIGTERM)  # its workers go on; the next one takes them over
    return found


def _alive(process: ProcessIdentity) -> bool:
    with suppress(ChildProcessError):  # a survivor is no child of ours
        os.waitpid(process.pid, os.WNOHANG)
    return process.alive()


def pause_after(deaths: int) -> float:
    """Seconds to wait after so many deaths in a row."""
    return min(_SLOWEST, 0.1 * 2**deaths) if deaths else 0.0


def _count_death(watched: _Watched, now: float) -> None:
    assert watched.process is not None
    expected = watched.process.pid in watched.replaced or _has_left(watched)
    if expected or now - watched.started >= _HEALTHY:
        watched.deaths = 0
    else:
        log.warning("the supervisor of %s ended soon after its start; see %s", watched.node.name, LOG)
        watched.deaths += 1
    watched.not_before = now + pause_after(watched.deaths)
    watched.process = None


def _gone(watched: _Watched) -> bool:
    return _has_left(watched) and (watched.process is None or not _alive(watched.process))


def _has_left(watched: _Watched) -> bool:
    return (watched.node.directory / LEFT).exists()


def _argv(pid: int) -> tuple[str, ...]:
    try:
        line = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return ()
    return tuple(os.fsdecode(part) for part in line.split(b"\0")[:-1])


def keep_short(path: Path) -> None:
    """Keep a log from growing for ever; what writes to it appends, so it may be emptied under its hands."""
    with suppress(FileNotFoundError):
        if path.stat().st_size > LOG_BYTES:
            path.with_suffix(".old.log").write_bytes(path.read_bytes()[-LOG_BYTES:])
            os.truncate(path, 0)
