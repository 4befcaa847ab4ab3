"""Limits how often each node may send requests, so that one with a fault, or a stolen credential, stops no other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock

from tenuto.errors import Busy

REQUESTS_PER_SECOND, REQUESTS_AT_ONCE = 50.0, 500.0
"""Of the node protocol, on average and at once; a supervisor needs a few per second."""
UPLOADS_PER_SECOND, UPLOADS_AT_ONCE = 200.0, 2000.0
"""Pieces of logs, records and samples, each limited in its size; those of many workers come together."""


@dataclass(slots=True)
class _Bucket:
    left: float
    at: float


class RequestRate:
    """A token bucket for each node. Thread-safe."""

    def __init__(self, per_second: float, at_once: float, clock: Callable[[], float]) -> None:
        """`clock` counts seconds and never goes back."""
        self.per_second = per_second
        self.at_once = at_once
        self._clock = clock
        self._buckets: dict[str, _Bucket] = {}
        self._lock = Lock()

    def count(self, node: str) -> None:
        """Count one request. Raises Busy if the node has sent too many."""
        now = self._clock()
        with self._lock:
            bucket = self._buckets.setdefault(node, _Bucket(self.at_once, now))
            bucket.left = min(self.at_once, bucket.left + (now - bucket.at) * self.per_second)
            bucket.at = now
            if bucket.left < 1.0:
                raise Busy(f"node {node} sends too many requests", remedy="Try again soon")
            bucket.left -= 1.0
