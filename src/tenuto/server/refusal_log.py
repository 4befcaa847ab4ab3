"""Log entries about misbehaving clients, bounded: a flood of requests must not become a flood of lines."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

QUIET_SECONDS = 60.0
"""After an entry about an address, further ones about it are only counted for so long."""
MAX_ADDRESSES = 1024
"""Addresses that are remembered at the same time; others are not logged."""


class RefusalLog:
    """Writes one line per address and minute, with the number of refusals since the last line. Not thread-safe."""

    def __init__(self, log: logging.Logger, clock: Callable[[], float] = time.monotonic) -> None:
        self._log = log
        self._clock = clock
        self._quiet_until: dict[str, float] = {}
        self._suppressed: dict[str, int] = {}

    def note(self, address: str, reason: str) -> None:
        """Log that a connection from an address was closed, and why."""
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
        self._log.warning(
            "closed a connection from %s: %s (%d more since the last entry)", address, reason, before
        )

    def _forget(self, now: float) -> None:
        self._quiet_until = {address: until for address, until in self._quiet_until.items() if now < until}
        self._suppressed = {
            address: count for address, count in self._suppressed.items() if address in self._quiet_until
        }
