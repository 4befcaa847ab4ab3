"""Ctrl-C during a replay. Python must not raise inside a kernel's call: Numba crashes there."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def interrupts_held() -> Iterator[Callable[[], None]]:
    """Keep a Ctrl-C until the given function is called; a second one does not wait."""
    if threading.current_thread() is not threading.main_thread():
        yield lambda: None
        return
    before = signal.getsignal(signal.SIGINT)
    asked = False

    def note(_signal: int, _frame: FrameType | None) -> None:
        nonlocal asked
        asked = True
        signal.signal(signal.SIGINT, before)

    def let_through() -> None:
        if asked:
            raise KeyboardInterrupt

    signal.signal(signal.SIGINT, note)
    try:
        yield let_through
        let_through()
    finally:
        signal.signal(signal.SIGINT, before)
