"""What watches over nodes and jobs while a server runs: made here, put together and taken apart again."""

from __future__ import annotations

import logging
import math
import time
from pathlib import Path

from tenuto.cli.gap_teller import GapTeller
from tenuto.cli.influx import influx_of
from tenuto.cli.thinning import Thinning
from tenuto.model.series import NODE
from tenuto.monitor.columns import points_of
from tenuto.monitor.latest import LatestSamples
from tenuto.monitor.usage import GpuUses
from tenuto.settings import Settings
from tenuto.store.base import Store
from tenuto.store.series.base import SeriesStore
from tenuto.store.series.open import open_series
from tenuto.store.series.pruning import Retention
from tenuto.store.series.sql import Manner
from tenuto.store.series.told import telling
from tenuto.wire.node import Sampled, Samples

log = logging.getLogger("tenuto.nodes")
HISTORY = "metrics.db"
"""The file in the home with the history of numbers, unless a PostgreSQL has it."""
UPLOADS = 100.0
"""So many a second are taken in, of all nodes together; each takes some milliseconds, however few samples it brings."""
SKEW = 30.0
"""Seconds by which a node's clock may differ from ours, with the way of its samples, before it is said."""


class Monitoring:
    """The history of numbers, the newest samples, and everybody who is told of them."""

    def __init__(self, settings: Settings, directory: Path, store: Store) -> None:
        """`directory`: where the history is kept."""
        self._settings = settings
        monitor = settings.monitor
        self.latest = LatestSamples()
        self.uses = GpuUses(settings.idle.below, monitor.period)
        self.latest.listen(self.uses.take)
        manner = Manner(retention=Retention(monitor.raw, monitor.minutes))
        self.series: SeriesStore = open_series(settings.store.url, directory / HISTORY, manner)
        self._thinning = Thinning(self.series, monitor)
        self.influx = influx_of(settings.influx, store)
        if self.influx is not None:
            self.latest.listen(self.influx.take_samples)
            self.series = telling(self.series, self.influx.take_points)
        self.gaps = GapTeller(store, self.series, monitor.period)
        self._skewed: dict[str, str] = {}
        """Nodes whose clocks were complained of, with the sessions of their supervisors."""

    def take(self, told: Samples) -> Sampled:
        """Have what a node's sampler has seen."""
        self.series.add(points_of(told.node, told.samples))
        self.series.add_gaps(told.node, told.gaps)
        self.latest.take(told.node, told.samples)
        self.gaps.hear(told)
        self._mind_clock(told)
        kept = self.series.kept(NODE, told.node)
        return Sampled(kept=kept if math.isfinite(kept) else None, again=self._pace())

    def start(self) -> None:
        """Begin what goes on by itself."""
        self.gaps.start()
        self._thinning.start()
        if self.influx is not None:
            self.influx.start()

    def stop(self) -> None:
        """End it; what was taken in is kept."""
        self.gaps.stop()
        self._thinning.stop()
        if self.influx is not None:
            self.influx.stop()
        self.series.close()

    def _pace(self) -> float:
        """Seconds between two uploads of a node, so that all nodes together do not keep the server from its work."""
        monitor = self._settings.monitor
        pace = max(monitor.upload, len(self.latest) / UPLOADS)
        self.latest.fresh = max(self._settings.nodes.timeout, 3 * (monitor.period + pace))
        return pace

    def _mind_clock(self, told: Samples) -> None:
        """Samples stand where the node's clock puts them; if that is wrong, people are told once."""
        ahead = 0.0 if told.sent_at is None else told.sent_at - time.time()
        if abs(ahead) < SKEW or self._skewed.get(told.node) == told.session:
            return
        self._skewed[told.node] = told.session
        log.warning(
            "its clock is %.0f s %s ours, and so are its samples; let both machines set their clocks by NTP",
            *(abs(ahead), "ahead of" if ahead > 0 else "behind"),
            extra={"actor": f"node:{told.node}", "node": told.node},
        )
