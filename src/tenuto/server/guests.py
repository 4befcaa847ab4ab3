"""Who comes and goes: the first request of a user after a while is noted, and that no more come; strangers, too."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from threading import Lock

from starlette.datastructures import Headers
from starlette.types import Scope

log = logging.getLogger("tenuto.clients")

SILENCE = 15 * 60.0
"""Seconds without a request after which somebody counts as gone."""
MOST = 1024
"""Guests that are remembered at the same time; of more the log says nothing."""
_STRANGERS = 60.0
"""Seconds in which a stranger from the same address is noted once."""


class Guests:
    """Thread-safe, and quick: it is asked at every request."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._here: dict[tuple[str, str], float] = {}
        self._strangers: dict[str, float] = {}
        self._lock = Lock()

    def came(self, user: str, scope: Scope) -> None:
        """A request with a known token."""
        now, guest = self._clock(), (user, _address(scope))
        new = guest not in self._here
        if new and len(self._here) >= MOST:
            return
        self._here[guest] = now
        if new:
            agent = Headers(scope=scope).get("user-agent", "")[:100]
            log.info("online from %s with %s", guest[1], agent or "no name", extra={"actor": user})

    def stranger(self, scope: Scope) -> None:
        """A request without a token that is known here."""
        now, address = self._clock(), _address(scope)
        with self._lock:
            if now < self._strangers.get(address, 0.0) or len(self._strangers) >= MOST:
                return
            self._strangers[address] = now + _STRANGERS
        log.warning("a request from %s for %s had no token that is known here", address, scope["path"][:200])

    def look_around(self) -> None:
        """Note who has gone, and forget strangers."""
        now = self._clock()
        with self._lock:
            gone = [guest for guest, heard in list(self._here.items()) if now > heard + SILENCE]
            for guest in gone:
                self._here.pop(guest, None)
            self._strangers = {address: until for address, until in self._strangers.items() if now < until}
        for user, address in gone:
            log.info("offline: not heard of for %d min from %s", SILENCE / 60, address, extra={"actor": user})


def _address(scope: Scope) -> str:
    client = scope.get("client")
    return str(client[0]) if client and client[0] else "a Unix socket"
