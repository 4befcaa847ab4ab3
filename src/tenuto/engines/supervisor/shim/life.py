"""One worker's life: setup, start, end, exit record."""

from __future__ import annotations

import fcntl
import os
import signal
import time

from tenuto.engines.supervisor.shim.files import identity, read_whole, write_whole
from tenuto.engines.supervisor.shim.log import Log
from tenuto.engines.supervisor.shim.processes import Processes
from tenuto.engines.supervisor.shim.program import NotRun, Program, keep_descendants
from tenuto.wire import env

TYPE_CHECKING = False  # importing typing costs milliseconds
if TYPE_CHECKING:
    from typing import Any

_LOOK_AGAIN = 0.1
"""Seconds between two looks whether another worker's setup is done, or the disk has room again."""
_DRAINED = 128 + signal.SIGTERM


def main(directory: str, lock: int, kind: type[Program] = Program) -> None:
    """Be the shim of the worker whose order lies in the directory; the worker is started as that kind of program.

    The lock was taken by the supervisor and is ours until we end: it tells for certain whether we live.
    """
    os.set_inheritable(lock, False)
    keep_descendants()
    Life(directory, kind).live()


class Life:
    """One worker from its order to its exit record."""

    def __init__(self, directory: str, kind: type[Program]) -> None:
        self._directory = directory
        self._kind = kind
        self._task: dict[str, Any] = read_whole(f"{directory}/order.json")
        self._order: dict[str, Any] = self._task["order"]
        self._log = Log(f"{directory}/log", self._task["spool_bytes"])
        self._processes = Processes(self._log, f"{directory}/stop.json", float(self._order["grace"]))
        self._linked = bool(self._order.get("linked"))

    def live(self) -> None:
        """Run the worker and leave its exit record."""
        self._note(None)
        self._processes.heed()  # it may have been said before we could hear signals
        try:
            self._refuse_if_stopped()
            if self._order["setup"]:
                self._setup()
            code, stop = self._run()
            reason, message = ("ended", "") if stop is None else (stop["reason"], stop["message"])
        except NotRun as error:
            code, reason, message = error.exit_code, error.reason, error.message
            self._log.line(message)
        self._log.line(f"Program exit with code {code}")
        end = {"exit_code": code, "reason": reason, "message": message, "ended_at": time.time()}
        self._persist(f"{self._directory}/exit.json", {**end, "log_bytes": self._log.offset}, durable=True)
        self._ring()

    def _run(self) -> tuple[int, dict[str, Any] | None]:
        self._refuse_without_environment()
        pid = self._processes.start(self._program(self._kind, self._order["argv"]))
        worker = {"pid": pid, "started": identity(pid), "at": time.time()}
        self._note(worker)
        if self._linked:  # others wait for it: they are told before all that it left behind is cleared away
            self._processes.on_end = lambda code: self._note({**worker, "exit_code": code})
        return self._processes.wait()

    def _program(self, kind: type[Program], argv: list[str]) -> Program:
        ours = {env.REPORT: f"{self._directory}/report"}
        if self._linked:
            ours[env.LINK] = f"{self._directory}/link"
            ours[env.BELL] = self._task["bell"]
            ours[env.WORKER] = "{job}.{generation}.{role}.{rank}".format(**self._order["id"])
        return kind(self._order, argv, ours)

    def _refuse_if_stopped(self) -> None:
        if (stop := self._processes.stop) is not None:
            raise NotRun(stop["reason"], stop["message"] or "it was told to end before it started", _DRAINED)

    def _refuse_without_environment(self) -> None:
        """Rather than run it with whatever Python the node has. The setup, which may make it, is done by now."""
        order = self._order
        named, programs = order.get("environment", ""), order["path_first"]
        here = order["cwd"] or os.curdir
        if named and not (
            os.path.exists(os.path.join(here, named)) and os.path.isdir(os.path.join(here, programs))
        ):
            message = f"the environment {named!r} is not there, or has no programs in {programs!r}"
            raise NotRun("not_started", message, 127)

    def _setup(self) -> None:
        """Have the job's setup done here once, by whichever of its workers comes first."""
        place = self._task["setup_dir"]
        os.makedirs(place, mode=0o700, exist_ok=True)
        lock = os.open(f"{place}/lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        while not _try_lock(lock):
            self._processes.listen(_LOOK_AGAIN)
            self._refuse_if_stopped()
        if not os.path.exists(f"{place}/done"):
            self._setup_here(place)
        os.close(lock)

    def _setup_here(self, place: str) -> None:
        """Do it; a failure counts for all workers of this generation, the next one may try again."""
        generation = self._order["id"]["generation"]
        result = read_whole(f"{place}/failed")
        if result is None or result["generation"] != generation:
            self._processes.start(self._program(Program, ["/bin/sh", "-c", self._order["setup"]]))
            code, _ = self._processes.wait()
            self._refuse_if_stopped()
            result = {"generation": generation, "exit_code": code}
            self._persist(f"{place}/{'failed' if code else 'done'}", result)
        if result["exit_code"]:
            code = result["exit_code"]
            raise NotRun("setup_failed", f"the setup ended with exit code {code}", code)

    def _note(self, worker: dict[str, Any] | None) -> None:
        """Write down who we are, and who the worker is once it runs."""
        me = {"pid": os.getpid(), "started": identity(os.getpid()), "worker": worker}
        self._persist(f"{self._directory}/shim.json", me)
        self._ring()

    def _persist(self, path: str, value: object, *, durable: bool = False) -> None:
        """Write it, however long the disk is full."""
        while True:
            try:
                write_whole(path, value, durable=durable)
            except (FileNotFoundError, NotADirectoryError):
                return  # the directory was removed or replaced: no supervisor looks there any more
            except OSError:
                time.sleep(_LOOK_AGAIN)
            else:
                return

    def _ring(self) -> None:
        """Let a supervisor that is there look at once."""
        try:
            bell = os.open(self._task["bell"], os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return  # it is away, and looks when it comes back
        try:
            os.write(bell, f"{os.path.basename(self._directory)}\n".encode())
        except OSError:
            return  # so many have rung that it will look anyway
        finally:
            os.close(bell)


def _try_lock(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
