"""Who wants to know of commits, and up to which revision they have been told."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

log = logging.getLogger(__name__)


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
