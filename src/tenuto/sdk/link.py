"""A worker's side of the directory that it shares with its supervisor (see `wire.membership`).

A thread of its own waits for newer memberships, so that the training thread only reads an attribute.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import faulthandler
import logging
import os
import select
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from tenuto.wire import membership as memberships
from tenuto.wire.membership import Membership
from tenuto.wire.status import Stage, Status, StatusPage

log = logging.getLogger(__name__)
_LOOK = 0.5
"""Seconds between two looks where the kernel tells of changes by itself; it is only a second rope."""
_LOOK_OFTEN = 0.005
"""Seconds between two looks where it does not."""
_URGENT = (Stage.READY, Stage.LEAVING, Stage.FINISHED)
"""Stages whose beginning the supervisor waits for; and TRAINING after FORMING, but not at every step."""

_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_IN_MOVED_TO, _IN_CLOEXEC, _IN_NONBLOCK = 0x80, 0o2000000, 0o4000


class Link:
    """Memberships in, status out."""

    def __init__(self, directory: str | Path, worker: str, bell: str | None = None) -> None:
        self.directory = Path(directory)
        self.worker = worker
        self.newest: Membership | None = None
        """The newest membership; set by the watcher."""
        self._bell = bell
        self._status = Status(since=time.monotonic())
        self._page = _open_page(self.directory / memberships.STATUS)
        self._page.put(self._status)
        self._changed = threading.Condition()
        self._callbacks: list[Callable[[Membership], None]] = []
        self._stack = _show_stacks_in(self.directory / memberships.STACK)
        self._end = os.eventfd(0, os.EFD_CLOEXEC)
        self._watcher = threading.Thread(target=self._watch, name="tenuto-link", daemon=True)
        self._watcher.start()

    @property
    def status(self) -> Status:
        """What was shown last."""
        return self._status

    def wait_newer(self, than: int, timeout: float | None) -> Membership | None:
        """The newest membership beyond a generation, as soon as there is one; None after the timeout."""
        with self._changed:
            self._changed.wait_for(lambda: self._is_newer(than), timeout)
            return self.newest if self._is_newer(than) else None

    def on_newer(self, callback: Callable[[Membership], None]) -> None:
        """Call this in the watcher's thread for each newer membership, beginning with the one that is there."""
        with self._changed:
            self._callbacks.append(callback)
            newest = self.newest
        if newest is not None:
            callback(newest)

    def show(self, stage: Stage | None = None, **fields: Any) -> None:
        """Change what the supervisor sees, and ring if it waits for that. One thread only."""
        before = self._status
        if stage is not None and stage != before.stage:
            fields |= {"stage": stage, "since": time.monotonic()}
        self._status = replace(before, **fields)
        self._page.put(self._status)
        if (before.stage, stage) == (Stage.FORMING, Stage.TRAINING) or (
            stage != before.stage and stage in _URGENT
        ):
            self.ring()

    def ring(self) -> None:
        """Ask the supervisor to look now; if it cannot hear, it looks by itself later."""
        if self._bell is None:
            return
        with contextlib.suppress(OSError):
            bell = os.open(self._bell, os.O_WRONLY | os.O_NONBLOCK | os.O_CLOEXEC)
            try:
                os.write(bell, os.fsencode(f"{self.directory.absolute().parent.name}\n"))
            finally:
                os.close(bell)

    def close(self) -> None:
        """Stop watching; what was shown last stays."""
        if self._end < 0:
            return
        os.eventfd_write(self._end, 1)
        self._watcher.join()
        os.close(self._end)
        self._end = -1
        self._page.close()
        if self._stack is not None:
            faulthandler.unregister(signal.SIGUSR2)
            os.close(self._stack)

    def _is_newer(self, than: int) -> bool:
        return self.newest is not None and self.newest.generation > than

    def _watch(self) -> None:
        notices = _watch_directory(self.directory)
        poll = select.poll()
        poll.register(self._end, select.POLLIN)
        if notices is not None:
            poll.register(notices, select.POLLIN)
        pause = 1000 * (_LOOK if notices is not None else _LOOK_OFTEN)
        try:
            self._look()
            while all(descriptor != self._end for descriptor, _ in poll.poll(pause)):
                if notices is not None:
                    with contextlib.suppress(BlockingIOError):
                        os.read(notices, 1 << 16)
                self._look()
        finally:
            if notices is not None:
                os.close(notices)

    def _look(self) -> None:
        try:
            found = memberships.read(self.directory)
        except (OSError, ValueError, KeyError, TypeError):
            return  # nothing that we understand; the supervisor will write another
        if found is None or not (self.newest is None or found.generation > self.newest.generation):
            return
        with self._changed:
            self.newest = found
            callbacks = list(self._callbacks)
            self._changed.notify_all()
        for callback in callbacks:
            try:
                callback(found)
            except Exception:
                log.exception("this is a fault of tenuto; the worker goes on")


def _watch_directory(directory: Path) -> int | None:
    """A descriptor that becomes readable when a file was put into place there; None if the kernel cannot."""
    try:
        libc = ctypes.CDLL(None)
        notices = int(libc.inotify_init1(_IN_CLOEXEC | _IN_NONBLOCK))
        if notices < 0:
            return None
        if libc.inotify_add_watch(notices, os.fsencode(directory), _IN_MOVED_TO) < 0:
            os.close(notices)
            return None
    except (OSError, AttributeError):
        return None
    return notices


def _open_page(path: Path) -> StatusPage:
    """A newcomer to a full disk waits for room: it is not ready yet, and the others go on without it."""
    while True:
        try:
            return StatusPage(path)
        except OSError as error:
            if error.errno not in _NO_ROOM:
                raise
        time.sleep(_LOOK)


def _show_stacks_in(path: Path) -> int | None:
    """On SIGUSR2 every thread's stack is written there, even while the program hangs in foreign code."""
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    except OSError:
        return None
    faulthandler.register(signal.SIGUSR2, file=file, all_threads=True)
    return file
