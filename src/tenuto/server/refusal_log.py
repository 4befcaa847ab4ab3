"""Log entries about misbehaving clients, bounded: a flood of requests must not become a flood of lines."""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Callable

QUIET_SECONDS = 60.0
"""After an entry about an address, further ones about it are only counted for so long."""
MAX_ADDRESSES = 1024
"""Addresses that are remembered at the same time; others are not logged."""
MAX_LINE_CHARACTERS = 300


class RefusalLog:
    """Writes one line per address and minute, with the number of refusals since the last line. Not thread-safe."""

    def __init__(
        self,
        log: logging.Logger,
        clock: Callable[[], float] = time.monotonic,
        *,
        event: str = "closed a connection from %s: %s",
        level: int = logging.WARNING,
    ) -> None:
        self._log = log
        self._event = event
        """What an entry says of an address and a reason."""
        self._level = level
        self._clock = clock
        self._quiet_until: dict[str, float] = {}
        self._suppressed: dict[str, int] = {}

    def note(self, address: str, reason: str) -> None:
        """Log what happened with an address, and why; `reason` must be short."""
        now = self._clock()
        if now < self._quiet_until.get(address, 0.0):
            self._suppressed[address] = self._suppressed.get(address, 0) + 1
            return
        if address not in self._quiet_until and len(self._quiet_until) >= MAX_ADDRESSES:
            self._forget(now)
            if len(self._quiet_until) >= MAX_ADDRESSES:
                return
        self._quiet_until[address] = now + QUIET_SECONDS
        before = self._suppressed.pop(address, 0)
        self._log.log(
            self._level, f"{self._event} (%d more since the last entry)", *(address, reason, before)
        )

    def _forget(self, now: float) -> None:
        self._quiet_until = {address: until for address, until in self._quiet_until.items() if now < until}
        self._suppressed = {
            address: count for address, count in self._suppressed.items() if address in self._quiet_until
        }


class OneLineAMinute(logging.Filter):
    """For loggers of libraries that log a traceback for each broken message of a client: one line a minute instead."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._quiet_until = -math.inf
        self._suppressed = 0

    def filter(self, record: logging.LogRecord) -> bool:
        """Cut a record to its message, or drop it if another one was logged less than a minute ago."""
        now = self._clock()
        if now < self._quiet_until:
            self._suppressed += 1
            return False
        error = record.exc_info[1] if record.exc_info else None
        message = record.getMessage() if error is None else f"{record.getMessage()}: {error!r}"
        record.msg = f"{message[:MAX_LINE_CHARACTERS]} ({self._suppressed} more since the last entry)"
        record.args, record.exc_info, record.exc_text = (), None, None
        self._quiet_until, self._suppressed = now + QUIET_SECONDS, 0
        return True
