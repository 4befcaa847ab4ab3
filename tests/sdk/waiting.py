"""Waiting for what another thread or process does, with a guard against waiting for ever."""

from __future__ import annotations

import threading
from collections.abc import Callable

GUARD = 30.0
"""Seconds after which something hangs."""
_LOOK = 0.005


def wait_until(happened: Callable[[], object]) -> None:
    """Return as soon as it has."""
    pause = threading.Event()
    for _ in range(int(GUARD / _LOOK)):
        if happened():
            return
        pause.wait(_LOOK)
    raise AssertionError(f"it has not happened within {GUARD} s")
