"""Whether this process was asked to end: a signal sets a flag, the training loop leaves at the end of a step."""

from __future__ import annotations

import atexit
import logging
import os
import signal
import sys
import threading
import time

EXIT_DRAINED = 143
"""What a worker exits with that was told to go and has saved what is needed: 128 + SIGTERM, as a shell has it."""
EXIT_INTERRUPTED = 130
"""The same after Ctrl-C."""

_ECHO = 1.0
"""Seconds in which a second Ctrl-C is the first one, passed on by a launcher that got it from the terminal too."""
_PROMISE = b"\nCtrl-C: a checkpoint is kept at the end of this step; once more ends it at once\n"


class StopSignal:
    """Looked at between steps."""

    def __init__(self) -> None:
        self.asked = False
        self.exit_code = EXIT_DRAINED
        """What to leave with."""
        self._interrupted_at: float | None = None
        self._says_so = False

    def listen(self, *, keyboard: bool = False, says_so: bool = False) -> None:
        """Take SIGTERM, and Ctrl-C if that is wanted, unless the program has its own use for them.

        Further SIGTERMs change nothing: they are the first one, passed on by a shell or a launcher, and to die of one
        would be to die before the checkpoint. For haste there are SIGKILL and a second Ctrl-C.
        """
        if threading.current_thread() is not threading.main_thread():
            return  # Python lets nobody else take signals
        self._says_so = says_so
        if signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
            signal.signal(signal.SIGTERM, self._terminate)
        if keyboard and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._interrupt)

    def ask(self) -> None:
        """As if a signal had come."""
        self.asked = True

    def close(self) -> None:
        """Training is over: what the program does now ends as it would without us."""
        if threading.current_thread() is not threading.main_thread():
            return
        if signal.getsignal(signal.SIGTERM) == self._terminate:
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if signal.getsignal(signal.SIGINT) == self._interrupt:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def _terminate(self, _number: int, _frame: object) -> None:
        self.asked = True

    def _interrupt(self, _number: int, _frame: object) -> None:
        now = time.monotonic()
        if self._interrupted_at is None:
            self._interrupted_at = now
            self.asked, self.exit_code = True, EXIT_INTERRUPTED
            if self._says_so:
                os.write(2, _PROMISE)  # sys.stderr may be in the middle of a line of the program's
        elif now - self._interrupted_at > _ECHO:
            raise KeyboardInterrupt


class _Leaving:
    """Taking an interpreter with torch apart takes a second of a core, for which the next worker of the slot waits."""

    exit_code: int | None = None


def leave_with(exit_code: int) -> SystemExit:
    """To be raised by a worker that has nothing left to do. When all is closed the process ends without more ado."""
    _Leaving.exit_code = exit_code
    return SystemExit(exit_code)


@atexit.register  # at the import, so that it comes after whatever a run or a script registers later
def _end() -> None:
    if _Leaving.exit_code is not None:
        logging.shutdown()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(_Leaving.exit_code)
