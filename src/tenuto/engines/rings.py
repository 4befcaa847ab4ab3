"""Who wants to be told that something is new. An engine rings; whoever listens looks again."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from threading import Lock


class Rings:
    """Listeners, each called from whatever thread brings the news. They must return at once."""

    def __init__(self) -> None:
        self._listeners: dict[int, Callable[[], None]] = {}
        self._ticket = count()
        self._lock = Lock()

    def add(self, ring: Callable[[], None]) -> Callable[[], None]:
        """Listen; returns what ends it."""
        with self._lock:
            ticket = next(self._ticket)
            self._listeners[ticket] = ring
        return lambda: self._remove(ticket)

    def ring(self) -> None:
        """Call everyone. Not to be done while holding a lock that a listener might want."""
        with self._lock:
            listeners = list(self._listeners.values())
        for listener in listeners:
            listener()

    def clear(self) -> None:
        """Call nobody any more."""
        with self._lock:
            self._listeners.clear()

    def _remove(self, ticket: int) -> None:
        with self._lock:
            self._listeners.pop(ticket, None)
