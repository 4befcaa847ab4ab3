"""The thread that removes what is too old or too much, now and then, while a server runs."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from threading import Event, Thread

from tenuto.errors import TenutoError
from tenuto.server.platform import Platform
from tenuto.server.retention import RetentionService

log = logging.getLogger(__name__)

FIRST_SECONDS = 5.0
"""Before the first round: a server that starts has more urgent work."""
UNFINISHED_SECONDS = 1.0
"""Between two rounds if the first has left something over."""
STOP_SECONDS = 5.0
"""For which the end of a step is waited for."""


class RetentionThread:
    """Runs a round every `retention.period` seconds."""

    def __init__(
        self,
        here: Platform,
        cursors: Sequence[Callable[[], float]],
        refresh: Callable[[], object] = lambda: None,
    ) -> None:
        """`refresh` is called before each round: it brings readers of events forward, whose `cursors` limit removal."""
        self._stop = Event()
        self.service = RetentionService(here, cursors, self._stop)
        self._period_seconds = here.settings.retention.period
        self._refresh = refresh
        self._thread = Thread(target=self._run, name="retention", daemon=True)

    def start(self) -> None:
        """Begin; the first round removes what became too old while no server ran."""
        self._thread.start()

    def stop(self) -> None:
        """Begin nothing new; a round that is under way ends after its present step."""
        self._stop.set()
        self._thread.join(STOP_SECONDS)

    def _run(self) -> None:
        wait = min(FIRST_SECONDS, self._period_seconds)
        while not self._stop.wait(wait):
            wait = self._period_seconds
            try:
                self._refresh()
                self.service.run_round()
            except TenutoError as error:
                log.warning("retention is postponed: %s", error)
            except Exception:
                log.exception("a round of retention failed; the next one tries again")
            else:
                if self.service.unfinished:
                    wait = min(wait, UNFINISHED_SECONDS)
