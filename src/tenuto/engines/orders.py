"""The wish for all workers, split into the orders of each node."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from tenuto.wire.worker import CrewOrder, WorkerId, WorkerOrder


@dataclass(slots=True)
class Share:
    """One node's part of the wish."""

    workers: dict[WorkerId, WorkerOrder] = field(default_factory=dict)
    """In the order in which they were given."""
    crews: dict[str, CrewOrder] = field(default_factory=dict)
    """By job."""


def by_node(orders: Iterable[WorkerOrder]) -> dict[str, dict[WorkerId, WorkerOrder]]:
    """Every node's orders."""
    return {node: share.workers for node, share in shares(orders).items()}


def shares(orders: Iterable[WorkerOrder], crews: Iterable[CrewOrder] = ()) -> dict[str, Share]:
    """Every node's part. A crew's order goes to all its nodes, also to those whose workers are to leave."""
    split: dict[str, Share] = {}
    for order in orders:
        split.setdefault(order.node, Share()).workers[order.id] = order
    for crew in crews:
        for node in dict.fromkeys([*crew.peers, *crew.hosts]):
            split.setdefault(node, Share()).crews[crew.job] = crew
    return split
