"""A real pseudo-terminal with a program in it, and what somebody in front of it would see."""

from __future__ import annotations

import fcntl
import os
import select
import signal
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import psutil
import pyte

_IS_ITS_TERMINAL = "import fcntl, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0)"
PROGRAM = (sys.executable, "-c", f"{_IS_ITS_TERMINAL}; from tenuto.cli.main import main; main()")
GUARD = 60.0
"""Seconds after which a test that waits has hung."""


class PseudoTerminal:
    """A program in a terminal."""

    def __init__(self, arguments: tuple[str, ...], width: int, height: int, **environment: str) -> None:
        self._master, self._slave = os.openpty()
        self._size(width, height)
        self._before: Any = termios.tcgetattr(self._slave)
        self.screen = pyte.Screen(width, height)
        self._stream = pyte.ByteStream(self.screen)
        self.sent = b""
        """All that the program has written."""
        self.process = subprocess.Popen(
            [*PROGRAM, *arguments],
            stdin=self._slave,
            stdout=self._slave,
            stderr=self._slave,
            env={**os.environ, "TERM": "xterm-256color", **environment},
            start_new_session=True,
        )

    def _size(self, width: int, height: int) -> None:
        fcntl.ioctl(self._slave, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))

    def press(self, keys: str) -> None:
        """Type something."""
        os.write(self._master, keys.encode())

    def resize(self, width: int, height: int) -> None:
        """Drag a corner of the window."""
        self.screen.resize(height, width)
        self._size(width, height)

    @property
    def lines(self) -> list[str]:
        """What is on the screen."""
        return [line.rstrip() for line in self.screen.display]

    def sees(self, text: str, *, gone: bool = False) -> str:
        """Wait until a text is on the screen, or is there no more; returns its line."""
        self._until(
            lambda: (text in "\n".join(self.lines)) is not gone, f"{text!r} is {'gone' if gone else 'seen'}"
        )
        return next((line for line in self.lines if text in line), "")

    def _until(self, holds: Callable[[], bool], what: str) -> None:
        give_up = time.monotonic() + GUARD
        while not holds():
            shown = "\n".join(self.lines)
            assert time.monotonic() < give_up, f"it did not happen that {what}:\n{shown}"
            self._pump()

    def _pump(self) -> None:
        ready, _, _ = select.select([self._master], [], [], 0.1)
        if ready:
            data = os.read(self._master, 1 << 16)
            self.sent += data
            self._stream.feed(data)

    def stops(self) -> None:
        """Wait until the program rests."""
        process = psutil.Process(self.process.pid)
        self._until(lambda: process.status() == psutil.STATUS_STOPPED, "the program rests")
        self._drain()

    def _drain(self) -> None:
        while select.select([self._master], [], [], 0)[0]:
            self._pump()

    def ends(self) -> int:
        """Wait for the end of the program; returns its exit code."""
        self._until(lambda: self.process.poll() is not None, "the program ends")
        self._drain()
        assert self.process.returncode is not None
        return self.process.returncode

    @property
    def is_as_before(self) -> bool:
        """Whether the terminal echoes, waits for lines, shows its cursor and the page of before."""
        same = termios.tcgetattr(self._slave) == self._before
        return same and self.sent.endswith(b"\x1b[?7h\x1b[?25h\x1b[?1049l")

    def close(self) -> None:
        """Let nothing live on."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGKILL)
            self.process.wait(GUARD)
        os.close(self._master)
        os.close(self._slave)


@contextmanager
def in_a_terminal(
    *arguments: str, width: int = 80, height: int = 24, **environment: str
) -> Iterator[PseudoTerminal]:
    """Run a command of the program in a terminal."""
    terminal = PseudoTerminal(arguments, width, height, **environment)
    try:
        yield terminal
    finally:
        terminal.close()
