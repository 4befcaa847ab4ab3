"""Runs one program at a time, and sees to it that nothing of it is left.

One thread, one poll: output, signals and deaths are taken as they come.
"""

from __future__ import annotations

import math
import os
import select
import signal
import time

from tenuto.engines.supervisor.shim.files import read_whole
from tenuto.engines.supervisor.shim.log import Log
from tenuto.engines.supervisor.shim.program import Program

TYPE_CHECKING = False  # importing typing costs milliseconds
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_NOTICE = 5.0
"""Seconds before a worker is killed that was told to go by others, in which SIGTERM tells it too."""
_LINGER = 1.0
"""Seconds that processes may stay behind after a program that ended by itself, before they are killed."""
_KILL_AGAIN = 0.02
_CHUNK = 1 << 18


class Processes:
    """The shim's children and what they print."""

    def __init__(self, log: Log, stop_file: str, grace: float) -> None:
        self.stop: dict[str, Any] | None = None
        """Why the worker shall end, once somebody has said so."""
        self.on_end: Callable[[int], None] | None = None
        """Called with the exit code when the program has gone that nobody told to, whatever it left behind.

        One that was told to go may leave a child that is about to: a shell dies of SIGTERM before what it runs.
        """
        self._stop_file = stop_file
        self._most_grace = grace
        """Seconds; a worker could write a longer time into the file that says why it shall end."""
        self._plain_stop = {"reason": "stopped", "message": "", "grace": grace}
        self._log = log
        self._main = 0
        self._status: int | None = None
        self._stopped_by: dict[str, Any] | None = None
        self._any_left = False
        self._kill_at = self._ask_at = math.inf
        self._asked = False
        """Whether the program's group got SIGTERM."""
        self._output: int | None = None
        self._poll = select.poll()
        self._signals = self._hear_signals()

    def _hear_signals(self) -> int:
        signals, told = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        self._poll.register(signals, select.POLLIN)
        signal.set_wakeup_fd(told, warn_on_full_buffer=False)
        for number in (signal.SIGTERM, signal.SIGCHLD):
            signal.signal(number, lambda *_: None)
        for number in (signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        return signals

    def start(self, program: Program) -> int:
        """Start a program and return its pid. Raises NotRun."""
        output, its_output = os.pipe2(os.O_CLOEXEC)
        try:
            self._main = program.start(its_output)
        except BaseException:
            os.close(output)
            raise
        finally:
            os.close(its_output)
        os.set_blocking(output, False)
        self._poll.register(output, select.POLLIN)
        self._output = output
        self._status, self._stopped_by, self._any_left, self._asked = None, None, True, False
        if self.stop is not None:
            self._end_it(self.stop)
        return self._main

    def wait(self) -> tuple[int, dict[str, Any] | None]:
        """Wait until everything of the program is gone; its exit code, and why it was stopped if it was."""
        while self._any_left:
            left = min(self._ask_at, self._kill_at) - time.monotonic()
            self.listen(None if left == math.inf else max(0.0, left))
            if time.monotonic() >= self._ask_at:
                self._ask()
            if time.monotonic() >= self._kill_at:
                self._signal_all(signal.SIGKILL)
                self._kill_at = time.monotonic() + _KILL_AGAIN
        self._kill_at = self._ask_at = math.inf
        while self._pump():
            continue
        self._close_output()
        return _exit_code(self._status or 0), self._stopped_by

    def listen(self, timeout: float | None) -> None:
        """Take what comes within the time: output, orders to stop, deaths."""
        for descriptor, _ in self._poll.poll(None if timeout is None else math.ceil(timeout * 1000)):
            if descriptor == self._signals:
                self._take_signals(os.read(descriptor, 4096))
            else:
                self._pump()

    def _take_signals(self, arrived: bytes) -> None:
        if signal.SIGTERM in arrived:
            self.stop = self.stop or self._plain_stop  # even if somebody removed our directory
            self.heed()
        if signal.SIGCHLD in arrived:
            self._reap()

    def heed(self) -> None:
        """Look whether and why the worker shall end; the grace of an earlier order is never made longer."""
        self.stop = self._read_stop() or self.stop
        if self.stop is not None and self._any_left:
            self._end_it(self.stop)

    def _read_stop(self) -> dict[str, Any] | None:
        """The order to stop, if there is one that can be read."""
        try:
            given = read_whole(self._stop_file)
        except OSError:
            return None
        if not isinstance(given, dict):
            return None
        grace = given.get("grace")
        if isinstance(grace, bool) or not isinstance(grace, int | float) or not grace >= 0:
            grace = self._most_grace
        return {
            "reason": str(given.get("reason") or "stopped"),
            "message": str(given.get("message") or ""),
            "grace": min(grace, self._most_grace),
            "quiet": bool(given.get("quiet")),
        }

    def _end_it(self, why: dict[str, Any]) -> None:
        grace = float(why["grace"])
        self._kill_at = min(self._kill_at, time.monotonic() + grace)
        if grace > 0 and self._status is None:
            if why.get("quiet"):
                self._ask_at = min(self._ask_at, self._kill_at - min(_NOTICE, grace / 2))
            else:
                self._ask()

    def _ask(self) -> None:
        """Ask the program and its group to end."""
        self._ask_at, self._asked = math.inf, True
        _signal_group(self._main, signal.SIGTERM)
        _signal_group(self._main, signal.SIGCONT)  # a halted program could not hear it

    def _reap(self) -> None:
        """Take the exit codes of all that died. No child left means that everything is gone."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                self._any_left = False
                return
            if pid == 0:
                return
            if pid == self._main and self._status is None:
                self._status, self._stopped_by = status, self.stop
                if self.on_end is not None and self.stop is None:
                    self.on_end(_exit_code(status))
                self._clear_away()

    def _clear_away(self) -> None:
        """Ask all that the program left behind to end: it may be saving something still, so not at once by force."""
        if self.stop is None:
            self._kill_at = time.monotonic() + _LINGER
        self._ask_at = math.inf
        # What a shell ran was in its group and asked with it: it is about to end, and takes a second time for haste.
        self._signal_all(signal.SIGTERM, but=self._main if self._asked else 0)

    def _signal_all(self, number: int, but: int = 0) -> None:
        """All that there is, except those of one group."""
        if self._status is None:
            _signal_group(self._main, number)
        for pid in descendants(os.getpid()):
            try:
                if os.getpgid(pid) != but:
                    os.kill(pid, number)
            except OSError:
                continue  # gone meanwhile; or not ours to kill, and then it is waited for

    def _pump(self) -> bool:
        """Move a piece of what was printed into the log; False if there is none now."""
        if self._output is None:
            return False
        try:
            data = os.read(self._output, _CHUNK)
        except BlockingIOError:
            return False
        if data:
            self._log.write(data)
        else:
            self._close_output()
        return bool(data)

    def _close_output(self) -> None:
        if self._output is not None:
            self._poll.unregister(self._output)
            os.close(self._output)
            self._output = None


def _exit_code(status: int) -> int:
    """As a shell tells it."""
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def _signal_group(pid: int, number: int) -> None:
    try:
        os.killpg(pid, number)
    except OSError:
        return  # nobody is left in it


def descendants(ancestor: int, children: dict[int, list[int]] | None = None) -> list[int]:
    """All processes below one, nearest first."""
    children = children_by_parent() if children is None else children
    found = [ancestor]
    for pid in found:
        found += children.get(pid, [])
    return found[1:]


def children_by_parent() -> dict[int, list[int]]:
    """The tree of all processes."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    parent = int(file.read().rpartition(b")")[2].split()[1])
            except (OSError, IndexError):
                continue  # gone meanwhile
            children.setdefault(parent, []).append(int(name))
    return children
