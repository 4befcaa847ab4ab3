"""The thread in which policies decide along: nothing is loaded for it before the first one shall."""

from __future__ import annotations

import logging
from collections.abc import Callable
from threading import Event, Thread
from typing import TYPE_CHECKING, Protocol

from tenuto.forecast.shadow import KEY
from tenuto.store.base import Store, StoreUnavailable

if TYPE_CHECKING:
    from tenuto.forecast.shadow import Shown

log = logging.getLogger(__name__)

LOOKS_EVERY = 0.5
"""Seconds after which the first wish is noticed at the latest."""
LONGEST_GOODBYE = 0.5
"""Seconds that an end waits for them: they leave nothing behind, and a policy that is being compiled takes long."""


class Imagining(Protocol):
    """What decides along until it is told to stop."""

    @property
    def shown(self) -> tuple[Shown, ...]:
        """What it has come to."""
        ...

    def run(self, stop: Event) -> None:
        """Decide along."""
        ...


class Shadowing:
    """Waits for the first wish, then lets the shadows run."""

    def __init__(self, store: Store, make: Callable[[], Imagining]) -> None:
        self._store, self._make = store, make
        self._made: Imagining | None = None
        self._stop = Event()
        self._thread = Thread(target=self._run, name="shadows", daemon=True)

    @property
    def shown(self) -> tuple[Shown, ...]:
        """What the shadows have come to."""
        return () if self._made is None else self._made.shown

    def start(self) -> None:
        """Begin to wait."""
        self._thread.start()

    def stop(self) -> None:
        """Decide along no more; what is under way is given up."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(LONGEST_GOODBYE)

    @property
    def hangs_on(self) -> bool:
        """Whether the thread has not ended although it was told to."""
        return self._stop.is_set() and self._thread.is_alive()

    def _run(self) -> None:
        looked_at = -1
        while not self._stop.wait(LOOKS_EVERY):
            try:
                revision = self._store.revision()
                if revision == looked_at:
                    continue
                looked_at = revision
                wished = self._store.read(lambda tx: bool(tx.meta(KEY)))
            except StoreUnavailable:
                continue
            if wished:
                self._made = self._make()
                self._made.run(self._stop)
                return
