"""Whether this process was asked to end: SIGTERM sets a flag, the training loop leaves at the end of a step."""

from __future__ import annotations

import signal
import threading

EXIT_DRAINED = 143
"""What a worker exits with that was told to go and has saved what is needed: 128 + SIGTERM, as a shell has it."""


class StopSignal:
    """Looked at between steps."""

    def __init__(self) -> None:
        self.asked = False

    def listen(self) -> None:
        """Take SIGTERM, unless the program has its own use for it. A second one ends the process at once."""
        if threading.current_thread() is not threading.main_thread():
            return  # Python lets nobody else take signals
        if signal.getsignal(signal.SIGTERM) == signal.SIG_DFL:
            signal.signal(signal.SIGTERM, self._take)

    def ask(self) -> None:
        """As if a signal had come."""
        self.asked = True

    def _take(self, number: int, _frame: object) -> None:
        self.asked = True
        signal.signal(number, signal.SIG_DFL)
