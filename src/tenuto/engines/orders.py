"""The wish for all workers, split into the orders of each node."""

from __future__ import annotations

from collections.abc import Iterable

from tenuto.wire.worker import WorkerId, WorkerOrder


def by_node(orders: Iterable[WorkerOrder]) -> dict[str, dict[WorkerId, WorkerOrder]]:
    """Every node's orders, in the order in which they were given."""
    split: dict[str, dict[WorkerId, WorkerOrder]] = {}
    for order in orders:
        split.setdefault(order.node, {})[order.id] = order
    return split
