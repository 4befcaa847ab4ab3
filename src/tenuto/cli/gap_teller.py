"""Tells people that a node was not watched for a while: an event of the node for a gap, and not one for each.

The gap between two supervisors is found here. Neither of them can know it: the new one does not know what the old one
had seen, and what the old one had seen last may never have arrived. What arrived last before the new one's first sample
stands in the history.
"""

from __future__ import annotations

import logging
import queue
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

from tenuto.model.event import Event
from tenuto.model.series import NODE, Subject
from tenuto.store.base import EventQuery, Store, StoreUnavailable, Tx
from tenuto.store.series.base import SeriesQuery, SeriesStore
from tenuto.wire.node import Samples
from tenuto.wire.sample import Gap

log = logging.getLogger(__name__)
KIND = "monitoring"
QUIET = 60.0
"""Seconds after an event about a node in which its further gaps are only counted."""
RESTARTED = "the node's supervisor was started again"
_MOST = 10_000
"""Gaps that may wait to be told."""
_PATIENCE = 2.0
_LOOKS_BACK = (300.0, 3_600.0, 86_400.0, 30 * 86_400.0)
"""Seconds before a first sample in which the last one before it is looked for: it is rarely far."""


@dataclass(frozen=True, slots=True)
class _Beginning:
    """The first sample that a supervisor has told."""

    at: float


@dataclass(slots=True)
class _Told:
    """What was last told of a node."""

    at: float
    until: float
    since_then: int = 0
    """Gaps that were not told."""


class GapTeller:
    """A thread of its own, as both the history and the store may wait for a disk."""

    def __init__(
        self, store: Store, series: SeriesStore, period: float, clock: Callable[[], float] = time.time
    ) -> None:
        self._store = store
        self._series = series
        self._hole = 1.5 * period + 0.5
        """Seconds without a sample in which one is missing."""
        self._clock = clock
        self._sessions: dict[str, str] = {}
        self._told: dict[str, _Told] = {}
        self._queue: queue.Queue[tuple[str, Gap | _Beginning] | None] = queue.Queue(_MOST)
        self._thread = threading.Thread(target=self._run, daemon=True, name="gaps")

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self) -> None:
        """Tell what is known, and no more."""
        with suppress(queue.Full):
            self._queue.put_nowait(None)
        if self._thread.is_alive():
            self._thread.join(_PATIENCE)

    def hear(self, told: Samples) -> None:
        """Samples have come; takes no time."""
        new = bool(told.samples) and self._sessions.get(told.node) != told.session
        if new:
            self._sessions[told.node] = told.session
        with suppress(queue.Full):
            if new and all(gap.until != told.samples[0].at for gap in told.gaps):
                self._queue.put_nowait((told.node, _Beginning(told.samples[0].at)))
            for gap in told.gaps:
                self._queue.put_nowait((told.node, gap))

    def _run(self) -> None:
        while (heard := self._queue.get()) is not None:
            node, what = heard
            try:
                gap = self._gap_before(node, what.at) if isinstance(what, _Beginning) else what
                if gap is not None:
                    self.tell(node, gap)
            except StoreUnavailable as trouble:
                log.warning("a gap of %s is not told: %s", node, trouble)
            except Exception:
                log.exception("this is a fault of tenuto; a gap of %s is not told", node)

    def _gap_before(self, node: str, first: float) -> Gap | None:
        """What is missing before the first sample of a supervisor, if anything is; remembered in the history, too."""
        last = self._last_before(node, first)
        if last is None or first - last <= self._hole:
            return None
        gap = Gap(since=last, until=first, why=RESTARTED)
        self._series.add_gaps(node, [gap])
        return gap

    def _last_before(self, node: str, first: float) -> float | None:
        for seconds in _LOOKS_BACK:
            found = self._series.read(
                SeriesQuery(
                    subject=Subject(NODE, node),
                    since=first - seconds,
                    until=first,
                    names=frozenset({"cpu"}),
                )
            )
            if len(found.at):
                return float(found.at[-1])
        return None

    def tell(self, node: str, gap: Gap) -> None:
        """Make an event of a gap, unless that was done or one was told a moment ago."""
        now = self._clock()
        last = self._told.get(node)
        if last is None:
            last = self._told[node] = self._store.read(partial(_last_told, node))
        if gap.until <= last.until:
            return
        if now - last.at < QUIET:
            last.since_then += 1
            last.until = gap.until
            return
        event = _event(node, gap, now, last.since_then)
        self._store.write(lambda tx: tx.add_event(event))
        self._told[node] = _Told(now, gap.until)


def _last_told(node: str, tx: Tx) -> _Told:
    """What another server, or this one before it forgot, has told of a node."""
    for event in tx.events(EventQuery(kind=KIND, node=node, limit=1, last=True)):
        return _Told(event.at, float(event.data.get("until", event.at)))
    return _Told(float("-inf"), float("-inf"))


def _event(node: str, gap: Gap, now: float, more: int) -> Event:
    others = f", and {more} other times since this was last told" if more else ""
    return Event(
        kind=KIND,
        at=now,
        actor=f"node:{node}",
        node=node,
        reason=f"no samples for {gap.until - gap.since:.1f} s: {gap.why}{others}",
        data={"since": gap.since, "until": gap.until, "more": more},
    )
