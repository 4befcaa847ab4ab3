"""The secrets with which supervisors authenticate what they tell each other, one for each job that rescales in place.

The server derives them and gives them only to the nodes of the job (`wire.worker.CrewOrder.secret`).
"""

from __future__ import annotations

import hmac
from collections.abc import Iterable
from dataclasses import dataclass, field

from tenuto.wire.worker import CrewOrder


@dataclass(frozen=True, slots=True)
class PeerKey:
    """Of one job."""

    secret: str
    nodes: frozenset[str]
    """Those that may speak of it."""


@dataclass(slots=True)
class PeerKeys:
    """Those of the newest orders. Replaced as a whole, so that other threads may read it at any moment."""

    _keys: dict[str, PeerKey] = field(default_factory=dict)

    def replace(self, orders: Iterable[CrewOrder]) -> None:
        """Know these jobs and no others."""
        self._keys = {
            order.job: PeerKey(order.secret, frozenset({*order.peers, *order.hosts})) for order in orders
        }

    def secret(self, job: str) -> str:
        """For a message about this job; empty if it is not known here."""
        key = self._keys.get(job)
        return "" if key is None else key.secret

    def accepts(self, job: str, secret: str) -> bool:
        """Whether a message about this job was sent by one of its nodes. Compared in constant time."""
        known = self.secret(job)
        return bool(known) and hmac.compare_digest(known.encode(), secret.encode())

    def has(self, job: str, node: str) -> bool:
        """Whether this node has to do with the job."""
        key = self._keys.get(job)
        return key is not None and node in key.nodes
