"""The thread in which the controller decides: begun after the server listens, and begun again should it ever die."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from threading import Event, Thread
from typing import Protocol

from tenuto.store.base import Store, StoreUnavailable, Tx

log = logging.getLogger(__name__)

FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0
LONGEST_TICK = 3.0
GOOD = 60.0
"""Seconds after which a controller that dies counts as the first one to do so."""


class Decider(Protocol):
    """A controller: works until it is told to stop."""

    def run(self, stop: Event) -> None:
        """Observe, decide and act until `stop` is set."""
        ...


class Deciding:
    """Runs one controller after the other, with growing pauses, until it is told to stop."""

    def __init__(self, store: Store, make: Callable[[], Decider]) -> None:
        self._store = store
        self._make = make
        self._stop = Event()
        self._trouble = ""
        self._thread = Thread(target=self._run, name="controller", daemon=True)

    @property
    def trouble(self) -> str:
        """What is the matter with it; empty if it decides, or is about to."""
        return self._trouble

    def start(self) -> None:
        """Begin; what a controller imports and compiles takes seconds, in which requests are answered already."""
        self._note("compiling")
        self._thread.start()

    def stop(self) -> None:
        """Decide nothing more; returns when the present tick is over, but does not wait for a compiler."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(LONGEST_TICK)

    @property
    def hangs_on(self) -> bool:
        """Whether the thread has not ended although it was told to."""
        return self._stop.is_set() and self._thread.is_alive()

    def _run(self) -> None:
        pause = FIRST_PAUSE
        while not self._stop.is_set():
            begun = time.monotonic()
            try:
                decider = self._make()
                self._trouble = ""
                decider.run(self._stop)
            except (Exception, SystemExit) as error:  # a policy of one's own may do anything
                pause = FIRST_PAUSE if time.monotonic() - begun > GOOD else pause
                log.exception("the controller died; the next one begins in %g s", pause)
                self._trouble = f"the controller died ({type(error).__name__}) and is started again"
                self._note("stopped")
            self._stop.wait(pause)
            pause = min(2 * pause, LONGEST_PAUSE)

    def _note(self, state: str) -> None:
        def act(tx: Tx) -> None:
            tx.set_meta("controller", {"state": state, "at": time.time()})

        try:
            self._store.write(act)
        except StoreUnavailable as trouble:
            log.warning("%s", trouble)
