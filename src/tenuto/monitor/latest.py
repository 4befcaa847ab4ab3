"""The newest sample of every node, and who wants to hear of new ones. In memory: a restart has them in a second."""

from __future__ import annotations

import logging
import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from tenuto.wire.sample import NodeSample

log = logging.getLogger(__name__)
FAREWELL = 5.0
"""Seconds in which the supervisor of a node that was removed may still bring samples."""
SET_BACK = 600.0
"""Seconds by which a sample is so much older than the newest one that the node's clock was set back."""

Listener: TypeAlias = Callable[[str, Sequence[NodeSample]], None]
"""Called with the name of a node and its new samples, oldest first; from any thread, so it must not take long."""


class LatestSamples:
    """Safe to use from any thread."""

    def __init__(self, fresh: float = math.inf, clock: Callable[[], float] = time.monotonic) -> None:
        """`fresh`: seconds after which a node that tells nothing more has no newest sample any more."""
        self.fresh = fresh
        self._clock = clock
        self._lock = threading.Lock()
        self._newest: dict[str, tuple[float, NodeSample]] = {}
        """With the moment at which it came, by our clock: the node's may be wrong."""
        self._removed: dict[str, float] = {}
        """When nodes were removed."""
        self._listeners: list[Listener] = []

    def take(self, node: str, samples: Sequence[NodeSample]) -> None:
        """Have new samples of a node, oldest first."""
        if not samples:
            return
        newest = samples[-1]
        with self._lock:
            known, now = self._newest.get(node), self._clock()
            if now - self._removed.get(node, -math.inf) < FAREWELL:
                return
            self._removed.pop(node, None)
            if known is None or not 0 < known[1].at - newest.at < SET_BACK:
                self._newest[node] = (now, newest)
            listeners = list(self._listeners)
        for listener in listeners:
            try:
                listener(node, samples)
            except Exception:
                log.exception("somebody could not hear the samples of %s; the others did", node)

    def __len__(self) -> int:
        """How many nodes tell something; those that are away bring nothing."""
        with self._lock:
            since = self._clock() - self.fresh
            return sum(came > since for came, _ in self._newest.values())

    def of(self, node: str) -> NodeSample | None:
        """The newest sample of a node; None if there is none, or none any more. Its `at` tells how old it is."""
        with self._lock:
            known = self._newest.get(node)
            return None if known is None or not self._is_fresh(known[0]) else known[1]

    def all(self) -> Mapping[str, NodeSample]:
        """The newest sample of each node that has one."""
        with self._lock:
            return {node: sample for node, (came, sample) in self._newest.items() if self._is_fresh(came)}

    def forget(self, node: str) -> None:
        """A node was removed; what its supervisor still tells is nobody's any more."""
        with self._lock:
            self._removed[node] = self._clock()
            self._newest.pop(node, None)

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Tell somebody of new samples; returns what ends it."""
        with self._lock:
            self._listeners.append(listener)

        def end() -> None:
            with self._lock:
                if listener in self._listeners:
                    self._listeners.remove(listener)

        return end

    def _is_fresh(self, came: float) -> bool:
        return self._clock() - came < self.fresh
