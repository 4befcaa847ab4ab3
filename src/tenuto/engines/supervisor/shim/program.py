"""Starts one command with its environment, directory and limits, in a process group of its own."""

from __future__ import annotations

import ctypes
import errno
import json
import math
import os
import resource
import signal

TYPE_CHECKING = False  # importing typing costs milliseconds
if TYPE_CHECKING:
    from typing import Any, NoReturn

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_libc = ctypes.CDLL(None)


class NotRun(Exception):
    """The worker never ran: why, in a sentence, and the exit code that a shell would give."""

    def __init__(self, reason: str, message: str, exit_code: int) -> None:
        self.reason = reason
        self.message = message
        self.exit_code = exit_code
        super().__init__(message)


class NoSuchPlace(OSError):
    """The working directory cannot be entered."""


def keep_descendants() -> None:
    """Become the parent of every process below that loses its own."""
    _libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


class Program:
    """One command as it was ordered."""

    def __init__(self, order: dict[str, Any], argv: list[str], extra_env: dict[str, str]) -> None:
        self._order = order
        self.argv = argv
        self.env = {**os.environ, **order["env"], **extra_env}
        if order["path_first"]:
            self.env["PATH"] = f"{order['path_first']}:{self.env.get('PATH', os.defpath)}"

    def start(self, output: int) -> int:
        """Fork and exec; the pid, when the command has begun. Raises NotRun if it cannot."""
        problem, tell = os.pipe2(os.O_CLOEXEC)
        pid = self._fork(output, tell)
        os.close(tell)
        with os.fdopen(problem, "rb") as file:
            told = file.read()
        if not told:
            return pid
        os.waitpid(pid, 0)
        what, number = json.loads(told)
        code = 127 if what == "start" and number == errno.ENOENT else 126
        raise NotRun("not_started", self._sentence(what, os.strerror(number)), code)

    def _fork(self, output: int, tell: int) -> int:
        """Have a child become the command; its pid. It closes `tell` when it has begun, or says there why not."""
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            self.become(parent, output, tell)
        return pid

    def become(self, parent: int, output: int, tell: int) -> NoReturn:
        """In the child: take the command's place and be the command."""
        try:
            self.enter(parent, output)
            os.execvpe(self.argv[0], self.argv, self.env)  # noqa: S606 - argv, no shell
        except OSError as error:
            what = "enter" if isinstance(error, NoSuchPlace) else "start"
            os.write(tell, json.dumps([what, error.errno]).encode())
        except ValueError:  # a zero byte in an argument or a variable
            os.write(tell, json.dumps(["start", errno.EINVAL]).encode())
        finally:
            os._exit(127)

    def enter(self, parent: int, output: int) -> None:
        """Take the place that was ordered: group, streams, limits, directory, signals."""
        _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)  # the shim died before the kernel was asked to tell us
        os.setpgid(0, 0)
        nothing = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
        for ours, its in ((nothing, 0), (output, 1), (output, 2)):
            os.dup2(ours, its)
        self._limit()
        if self._order["cwd"]:
            try:
                os.chdir(self._order["cwd"])
            except OSError as error:
                raise NoSuchPlace(*error.args) from None
        for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGPIPE, signal.SIGXFSZ):
            signal.signal(number, signal.SIG_DFL)

    def _limit(self) -> None:
        files, cpus = self._order["files"], self._order["cpus"]
        if files is not None:
            _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
            allowed = files if most == resource.RLIM_INFINITY else min(files, most)
            resource.setrlimit(resource.RLIMIT_NOFILE, (allowed, allowed))
        here = sorted(os.sched_getaffinity(0))
        if cpus is not None and (count := math.ceil(cpus)) < len(here):
            # Neighbouring slots get neighbouring cores, so that workers with a limit do not share theirs.
            first = (self._order["slot"] or 0) * count
            os.sched_setaffinity(0, {here[(first + i) % len(here)] for i in range(count)})

    def _sentence(self, what: str, why: str) -> str:
        if what == "enter":
            return f"the working directory {self._order['cwd']!r} cannot be entered: {why}"
        return f"the command {self.argv[0]!r} cannot be started: {why}"
