"""One worker as its supervisor sees it: its record on disk, its shim, and what to tell of it."""

from __future__ import annotations

import errno
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO
from urllib.parse import unquote

from tenuto.engines.identity import ProcessIdentity
from tenuto.engines.supervisor import shim
from tenuto.engines.supervisor.crews.seats import Seat
from tenuto.engines.supervisor.crews.watch import Watch
from tenuto.engines.supervisor.isolation import Failures
from tenuto.engines.supervisor.leftovers import kill_leftovers
from tenuto.engines.supervisor.records import Records
from tenuto.engines.supervisor.shim.files import boot
from tenuto.engines.supervisor.warm.call import without_shell
from tenuto.engines.supervisor.warm.pool import WarmPool
from tenuto.engines.supervisor.worker_environment import worker_variables
from tenuto.engines.supervisor.worker_files import Exit, Progress, Running, WorkerFiles, printable
from tenuto.wire import membership as memberships
from tenuto.wire.worker import ExitReason, WorkerId, WorkerOrder, WorkerSeen, WorkerState

log = logging.getLogger(__name__)
_SHIM = Path(shim.__path__[0]) / "__main__.py"
MOST_PROBLEM_CHARACTERS = 500
_MOST_GENERATION = 1 << 53
_MAY_PASS = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO)


class Worker:
    """A worker that has a record. All methods are quick; none waits."""

    def __init__(
        self,
        files: WorkerFiles,
        order: WorkerOrder,
        child: subprocess.Popen[bytes] | None,
        *,
        warm: bool = False,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        self.files = files
        self.order = order
        self.end: Exit | None = None
        self.running: Running | None = None
        self.stopping = False
        self.shown = 0
        """The number of the first report that told its end."""
        self.shim_watch: int | None = None
        """A descriptor that becomes readable when the shim has gone."""
        self._child = child
        self._warm = warm
        """Whether a warm server was asked for its shim, which may come to nothing."""
        self._variables = variables or {}
        """The environment of its shim, as long as it may have to be started."""
        self._report_stamp = (0, 0)
        self._progress: Progress | None = None
        self.failures = Failures(str(order.id))
        """What its files have done to those who look at them."""
        self.watch = Watch(files.untrusted.below("link"), memberships.STATUS) if order.linked else None
        self.told = _told(files.link) if order.linked else 0
        """The newest generation that the worker was told of."""
        self.evicted = False
        """Whether it hung and is being killed."""
        self.problem_told = False
        """Whether the server was told that its files cannot be used."""
        if child is not None:
            self.shim_watch = os.pidfd_open(child.pid)
        self.look()

    @property
    def unwatched(self) -> bool:
        """Whether nobody will tell us of its end: its shim has gone, or has not said yet who it is."""
        return self.end is None and self.shim_watch is None

    def look(self) -> None:
        """Read what the shim has written since."""
        if self.end is not None:
            return
        unknown = self.running is None
        self._take_running(self.files.running())
        if self.running is not None and self.running.exit_code is not None:
            self.look_at_status()  # what it showed last tells whether it left in peace
        self.stopping = self.stopping or self.files.is_to_stop()
        if self.shim_watch is None and self.running is not None:
            self.shim_watch = _watch(self.running.shim)
        self._end_with(self.files.exit())
        if unknown and self.stopping and self.end is None:
            self.repeat_stop()  # it may have looked for a reason to stop just before there was one

    def _take_running(self, found: Running | None) -> None:
        """Take over what the shim wrote. It is the same shim for all of its life, whatever else stands there later."""
        known = self.running
        if found is not None and (known is None or known.shim == found.shim):
            self.running = found

    @property
    def problem(self) -> str:
        """What is wrong with its files now; empty if nothing is."""
        return self.failures.problem or ("" if self.watch is None else self.watch.problem)

    def look_at_report(self) -> None:
        """Read what the worker itself reports."""
        stamp = self.files.report_stamp()
        if stamp != self._report_stamp:
            self._report_stamp = stamp
            self._progress = self.files.report() or self._progress

    def look_at_status(self) -> None:
        """Read where the worker stands, if it rescales in place."""
        if self.watch is not None and self.end is None:
            worker = None if self.running is None else self.running.worker
            self.watch.look(None if worker is None else worker.pid, time.monotonic())

    def seat(self, empty: Seat) -> Seat:
        """What whoever decides about its generation must know."""
        running, end, watch = self.running, self.end, self.watch
        died = None if running is None else running.exit_code
        return replace(
            empty,
            alive=end is None and died is None,
            exit_code=died if end is None else end.exit_code,
            status=None if watch is None else watch.status,
            activity=empty.activity if watch is None else watch.activity,
            step_seconds=None if watch is None else watch.step_seconds,
        )

    def stop(self, reason: ExitReason, message: str, grace: float, *, quiet: bool = False) -> None:
        """Have the shim end the worker; said again with another reason or less grace, that counts."""
        try:
            self.files.write_stop(reason, message, grace, quiet=quiet)
        except OSError as error:
            log.warning(
                "why %s shall end cannot be written, so it ends as if stopped: %s", self.order.id, error
            )
        self.stopping = True
        self.repeat_stop()

    def give_up(self, problem: str) -> None:
        """End a worker whose record was made unreadable: it cannot be looked after, so it must not run on."""
        self.failures.note(
            f"its record cannot be read, so it is ended: {printable(problem, MOST_PROBLEM_CHARACTERS)}"
        )
        self.stop(ExitReason.VANISHED, self.failures.problem, 0.0)
        kill_leftovers(self.files.directory / "report", self.running)  # its shim then sees that all has gone

    def repeat_stop(self) -> None:
        """Signal the shim; one that has not begun to listen looks for itself when it does."""
        if self.running is None or self.shim_watch is None:
            return
        try:
            signal.pidfd_send_signal(self.shim_watch, signal.SIGTERM)
            signal.pidfd_send_signal(self.shim_watch, signal.SIGCONT)  # somebody may have halted it
        except ProcessLookupError:
            return

    def look_for_death(self) -> bool:
        """If the shim has gone without a word, make sure that all is gone and say so; False if not certain yet."""
        self.look()
        if self.end is not None:
            return True
        known = None if self.running is None else self.running.shim
        if self.files.shim_lives(known) or not kill_leftovers(self.files.directory / "report", self.running):
            return False
        self.look()  # it may have written its last word meanwhile
        if self.end is None and self.running is None and self._warm:
            self._start_cold()
            return False
        if self.end is None:
            self._record_death()
        return True

    def _start_cold(self) -> None:
        """Start the shim that a warm server has not come to start: the lock was free, and it never said who it is."""
        self._warm = False
        lock = self.files.take_lock()
        if lock is not None:
            self._child = _start_shim(self.files, lock, self._variables)
            if self._child is not None:
                self.shim_watch = os.pidfd_open(self._child.pid)

    def seen(self, node: str) -> WorkerSeen:
        """What the server is told."""
        running, end, progress = self.running, self.end, self._progress
        status = None if self.watch is None else self.watch.status
        step = None if progress is None else progress.step
        worker = None if running is None else running.worker
        return WorkerSeen(
            id=self.order.id,
            node=node,
            state=self._state(),
            slot=self.order.slot,
            pid=None if worker is None else worker.pid,
            started_at=None if running is None else running.started_at,
            ended_at=None if end is None else end.ended_at,
            exit_code=None if end is None else end.exit_code,
            reason=None if end is None else end.reason,
            message=printable(self.problem, MOST_PROBLEM_CHARACTERS) if end is None else end.message,
            step=step if status is None else status.step,
            data={} if progress is None else progress.data,
            generation=None if status is None else status.generation or None,
            stage="" if status is None else status.stage.name.lower(),
        )

    def shim_has_gone(self) -> None:
        """Let go of the shim: its descriptor, and its exit code if it is our child."""
        if self.shim_watch is not None:
            os.close(self.shim_watch)
            self.shim_watch = None
        if self._child is not None:
            self._child.wait()
            self._child = None

    def _state(self) -> WorkerState:
        if self.end is not None:
            return WorkerState.EXITED
        if self.stopping:
            return WorkerState.STOPPING
        begun = self.running is not None and self.running.worker is not None
        return WorkerState.RUNNING if begun else WorkerState.WAITING

    def _end_with(self, end: Exit | None) -> None:
        if end is not None:
            self.look_at_report()
            self.look_at_status()
            self.end = end

    def _record_death(self) -> None:
        complaint = self.files.shim_complaint()
        if self.running is None:
            reason, message = ExitReason.NOT_STARTED, f"its shim could not be started: {complaint}"
        else:
            reason = ExitReason.VANISHED
            message = f"its shim is gone and left no exit code{': ' if complaint else ''}{complaint}"
        log.warning("%s: %s", self.order.id, message)
        self.record_end(reason, message)

    def record_end(self, reason: ExitReason, message: str) -> None:
        """Write down its end in place of its shim; it counts even if its directory cannot be written to."""
        log_bytes = 0
        try:
            log_bytes = self.files.add_to_log(f"Program vanished: {message}")
        except OSError as error:
            self.failures.note(f"its log cannot be completed: {error}")
        end = Exit(exit_code=None, reason=reason, message=message, ended_at=time.time(), log_bytes=log_bytes)
        try:
            self.files.write_exit(end)
        except OSError as error:
            if error.errno in _MAY_PASS:
                raise  # there will be room again; until then a restart of the supervisor must find it unfinished
            self.failures.note(f"its end cannot be written down: {error}")
        self._end_with(end)


def start(records: Records, order: WorkerOrder, pool: WarmPool | None = None) -> Worker:
    """Write down the order and start its shim. Raises OSError if there is no room for the record."""
    order = without_shell(order) if order.linked else order
    files = records.add(order)
    lock = files.take_lock()
    assert lock is not None, "a worker is started once"
    variables = worker_variables(os.environ, records.state.inherit)
    if pool is not None and records.is_set_up(order) and pool.hand_over(order, files.directory, lock):
        os.close(lock)
        return Worker(files, order, None, warm=True, variables=variables)
    return Worker(files, order, _start_shim(files, lock, variables))


def _start_shim(
    files: WorkerFiles, lock: int, variables: Mapping[str, str]
) -> subprocess.Popen[bytes] | None:
    """Start a shim with these variables, which its worker inherits, and let it have the lock."""
    command = [sys.executable, "-I", "-S", "-X", "utf8", str(_SHIM), str(files.directory), str(lock)]
    try:
        with _new_file(files.directory / "shim.err") as complaints:
            return subprocess.Popen(  # noqa: S603 - our own program
                command,
                stdin=subprocess.DEVNULL,
                stdout=complaints,
                stderr=complaints,
                env=dict(variables),
                pass_fds=(lock,),
                start_new_session=True,
            )
    except OSError as error:
        with suppress(OSError), _new_file(files.directory / "shim.err") as complaints:
            complaints.write(str(error).encode())
        return None
    finally:
        os.close(lock)


def _new_file(path: Path) -> BinaryIO:
    """An empty file in place of whatever is there. Raises OSError."""
    path.unlink(missing_ok=True)
    return os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb")


def adopt(records: Records, files: WorkerFiles) -> Worker | None:
    """Take over a worker that an earlier supervisor ordered; None if it had not come to starting anything."""
    try:
        found = files.order()
    except ValueError as error:  # of pydantic, too
        return _give_up(records, files, str(error))
    if found is None or (files.exit() is None and not files.shim_lives() and _never_began(files, found[1])):
        records.forget(files)
        return None
    worker = Worker(files, found[0], child=None)
    if worker.end is None and worker.running is None and files.problem:
        worker.give_up(files.problem)
    elif worker.end is None and worker.stopping:
        worker.repeat_stop()  # the earlier one may have been killed before it could
    return worker


def _give_up(records: Records, files: WorkerFiles, problem: str) -> Worker | None:
    """Take over a worker whose order cannot be read, and end it."""
    try:
        id = WorkerId.parse(unquote(files.name))  # noqa: A001
    except ValueError:
        log.warning("%s is no record of a worker, and is removed", files.directory)
        records.forget(files)
        return None
    order = WorkerOrder(id=id, node="", slot=None, argv=(), env={})
    worker = Worker(files, order, child=None)
    worker.give_up(problem)
    return worker


def _never_began(files: WorkerFiles, ordered_at_boot: str) -> bool:
    """Whether no shim came to life: it would have said so, unless the power failed before that was on the disk."""
    return files.running() is None and ordered_at_boot == boot()


def _watch(process: ProcessIdentity) -> int | None:
    """A descriptor for this very process; None if it is no more."""
    try:
        descriptor = os.pidfd_open(process.pid)
    except OSError:
        return None
    if process.alive():
        return descriptor
    os.close(descriptor)
    return None


def _told(link: Path) -> int:
    """The generation that a worker was told of last, by whichever supervisor."""
    try:
        told = memberships.read(link)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return 0
    if told is None or not isinstance(told.generation, int) or not 0 <= told.generation < _MOST_GENERATION:
        return 0
    return told.generation
