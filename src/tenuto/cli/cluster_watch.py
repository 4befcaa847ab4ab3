"""The thread that keeps the history of the whole cluster: one point every few seconds, whoever looks at it later."""

from __future__ import annotations

import logging
from collections.abc import Callable
from threading import Event, Thread

from tenuto.errors import TenutoError
from tenuto.monitor.facts import Facts, cluster_points
from tenuto.store.series.base import SeriesStore

log = logging.getLogger(__name__)

EVERY = 10.0
"""Seconds between two points."""
LONGEST_GOODBYE = 1.0


class ClusterWatch:
    """Looks at the platform now and then. A look that fails leaves a gap, and nothing else."""

    def __init__(self, look: Callable[[], Facts], series: SeriesStore, every: float = EVERY) -> None:
        self._look = look
        self._series = series
        self._every = every
        self._stop = Event()
        self._thread = Thread(target=self._run, name="cluster watch", daemon=True)

    def start(self) -> None:
        """Begin with a first point."""
        self._thread.start()

    def stop(self) -> None:
        """Look no more."""
        self._stop.set()
        if self._thread.is_alive():
            self._thread.join(LONGEST_GOODBYE)

    def _run(self) -> None:
        while not self._stop.is_set():
            try:
                self._series.add([cluster_points(self._look())])
            except TenutoError as trouble:
                log.warning("the cluster was not looked at: %s", trouble)
            except Exception:
                log.exception("this is a fault of tenuto; the history of the cluster has a gap")
            self._stop.wait(self._every)
