"""A cluster: nodes in a fixed order, each with slots. Slots are numbered through, node after node."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tenuto.model.columns import Ints, frozen


@dataclass(frozen=True)
class Cluster:
    """Nodes and their slots. `switch` groups nodes that share one network switch."""

    name: str
    slots: Ints
    switch: Ints
    node_names: tuple[str, ...]

    @classmethod
    def regular(cls, name: str, *, switches: int = 1, nodes: int, slots: int) -> Cluster:
        """Build a cluster of equal nodes: `nodes` under each switch, `slots` on each node."""
        count = switches * nodes
        return cls(
            name=name,
            slots=frozen(np.full(count, slots, dtype=np.int64)),
            switch=frozen(np.repeat(np.arange(switches, dtype=np.int64), nodes)),
            node_names=tuple(f"node-{index}" for index in range(count)),
        )

    @cached_property
    def total(self) -> int:
        """All slots of the cluster."""
        return int(self.slots.sum())

    @cached_property
    def first_slot(self) -> Ints:
        """For each node the number of its first slot, and at the end the number of all slots."""
        return frozen(np.concatenate([[0], np.cumsum(self.slots)]).astype(np.int64))

    @cached_property
    def node_of_slot(self) -> Ints:
        """For each slot the node that holds it."""
        return frozen(np.repeat(np.arange(len(self.slots), dtype=np.int64), self.slots))
