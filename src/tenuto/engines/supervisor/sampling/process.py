"""The sampler as a process: its lines, its period, its end. It lives no longer than the supervisor."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress

from tenuto.engines.supervisor.worker_environment import without_secrets

PROGRAM = (sys.executable, "-P", "-m", "tenuto.monitor.sampler")
LONGEST_LINE = 1 << 20
"""Bytes of a line that is no sample any more."""
_PIECE = 1 << 18


class SamplerProcess:
    """One sampler. Nothing here waits, but for the end of one that was killed."""

    def __init__(self, every: float, program: Sequence[str] = PROGRAM) -> None:
        """Start it. Raises OSError."""
        self._process = subprocess.Popen(  # noqa: S603 - a program of ours
            [*program, "--every", f"{every:g}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=without_secrets(os.environ),
            start_new_session=True,  # Ctrl-C is for the supervisor
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._in, self._out = self._process.stdin.fileno(), self._process.stdout.fileno()
        for end in (self._in, self._out):
            os.set_blocking(end, False)
        self._rest = b""
        self.silent = False
        """Whether it has closed its end, and nothing more will come."""

    @property
    def pid(self) -> int:
        """Of the process."""
        return self._process.pid

    def fileno(self) -> int:
        """What becomes readable when it tells something or ends."""
        return self._out

    def lines(self) -> list[bytes]:
        """What it has told since it was asked last, or some of it, in whole lines."""
        while not self.silent and len(self._rest) <= LONGEST_LINE:
            try:
                piece = os.read(self._out, _PIECE)
            except BlockingIOError:
                break
            self.silent = not piece
            self._rest += piece
        *whole, self._rest = self._rest.split(b"\n")
        if len(self._rest) > LONGEST_LINE:
            self._rest = b""
        return whole

    def change(self, every: float) -> None:
        """Have it sample at another period."""
        with suppress(OSError):  # it has just ended, or hangs: both are noticed elsewhere
            os.write(self._in, f"{every:g}\n".encode())

    def kill(self) -> None:
        """End it at once: it has nothing to lose."""
        self._process.kill()

    def end(self, patience: float = 0.0) -> str | None:
        """How it ended, in a sentence; None if it has not within some seconds."""
        try:
            code = self._process.wait(patience)
        except subprocess.TimeoutExpired:
            return None
        if code < 0:
            return f"the sampler was killed by {signal.Signals(-code).name}"
        return f"the sampler ended by itself with exit code {code}"

    def close(self) -> None:
        """Let go of its pipes."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(OSError):
            self._process.stdin.close()
        self._process.stdout.close()
