"""Who wants to know of commits, up to which revision they have been told, and when to look for more."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

log = logging.getLogger(__name__)

SURELY = 50
"""After so many looks at which nothing seems to have changed the database itself is asked."""


class Bell:
    """Calls everybody who listens once for each new revision; what one listener does wrong harms no other."""

    def __init__(self, told: int = 0) -> None:
        self._lock = threading.Lock()
        self._rings: dict[object, Callable[[int], None]] = {}
        self._told = told

    def hang(self, ring: Callable[[int], None]) -> Callable[[], None]:
        """Call `ring` from now on; returns what ends it."""
        mark = object()
        with self._lock:
            self._rings[mark] = ring

        def end() -> None:
            with self._lock:
                self._rings.pop(mark, None)

        return end

    def ring(self, revision: int) -> None:
        """Tell everybody, unless they know of this revision already."""
        with self._lock:
            if revision <= self._told:
                return
            self._told = revision
            rings = list(self._rings.values())
        for ring in rings:
            try:
                ring(revision)
            except Exception:
                log.exception("a listener of the store failed")


class Glance:
    """Whether a database may have changed, by a stamp that is cheaper to look at than the database."""

    def __init__(self, stamp: Callable[[], object] | None) -> None:
        self._stamp = stamp
        self._last: object = None
        self._quiet = 0

    def is_worth_asking(self) -> bool:
        """To be asked again and again; always if there is no stamp."""
        now = None if self._stamp is None else self._stamp()
        self._quiet = self._quiet + 1 if now is not None and now == self._last else 0
        self._last = now
        # Once more after a change: what follows within the same tick of the file system's clock looks the same.
        return self._quiet <= 1 or self._quiet % SURELY == 0
