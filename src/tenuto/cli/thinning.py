"""What is too old in the history of numbers is thrown away now and then, by a thread that nobody waits for."""

from __future__ import annotations

import logging
import time
from threading import Event, Thread

from tenuto.errors import TenutoError
from tenuto.settings import Monitor
from tenuto.store.series.base import SeriesStore

log = logging.getLogger(__name__)

_EVERY = 600.0
_LEAST = 5.0


class Thinning:
    """Prunes every ten minutes, or more often if little is kept."""

    def __init__(self, series: SeriesStore, kept: Monitor) -> None:
        self._series = series
        self.every = min(max(min(kept.raw, kept.minutes) / 10, _LEAST), _EVERY)
        """Seconds between two times."""
        self._enough = Event()
        self._thread = Thread(target=self._run, name="thinning", daemon=True)

    def start(self) -> None:
        """Begin; what became too old while no server ran goes at once."""
        self._thread.start()

    def stop(self) -> None:
        """Do no more; a history that is closed ends what is under way."""
        self._enough.set()

    def _run(self) -> None:
        wait = _LEAST
        while not self._enough.wait(wait):
            wait = self.every
            begun = time.monotonic()
            try:
                gone = self._series.prune(time.time())
            except TenutoError as error:
                log.warning("old numbers are not thrown away: %s", error)
            except Exception:
                log.exception("old numbers could not be thrown away; it is tried again")
            else:
                if gone:
                    log.debug("%d chunks of old numbers went in %.1f s", gone, time.monotonic() - begun)
