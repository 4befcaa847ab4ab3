"""Clusters that need no file: the reference's table by name, and shapes spelled out as numbers."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING

from tenuto.model.cluster import Cluster

if TYPE_CHECKING:
    from collections.abc import Mapping

# The reference's cluster files, as they are: n1g2 really is two nodes of one slot, and the larger ones are
# split over switches.
BUILT_IN: Mapping[str, tuple[int, int, int]] = MappingProxyType(
    {
        "n1g1": (1, 1, 1),
        "n1g2": (1, 2, 1),
        "n2g2": (1, 2, 2),
        "n1g4": (1, 1, 4),
        "n1g8": (1, 1, 8),
        "n4g8": (1, 4, 8),
        "n8g8": (1, 8, 8),
        "n16g4": (1, 16, 4),
        "n16g8": (1, 16, 8),
        "n32g4": (1, 32, 4),
        "n32g8": (1, 32, 8),
        "n48g8": (1, 48, 8),
        "n64g8": (2, 32, 8),
        "n128g8": (1, 128, 8),
        "n160g8": (5, 32, 8),
        "n256g8": (8, 32, 8),
    }
)
"""Switches, nodes under each switch and slots on each node, by name."""

# A mistyped zero too many should be refused, not fill the memory.
MOST_SLOTS = 1_000_000

_COUNT = r"([1-9][0-9]{0,6})"
_NODES_AND_SLOTS = re.compile(rf"n{_COUNT}g{_COUNT}|{_COUNT}x{_COUNT}")
_SWITCHES_TOO = re.compile(rf"{_COUNT}x{_COUNT}x{_COUNT}")


def cluster_named(name: str) -> Cluster | None:
    """Build the cluster that a name describes: `n16g8`, `16x8` (nodes x slots), `2x32x8` (switches first)."""
    shape = BUILT_IN.get(name) or _spelled_out(name)
    if shape is None:
        return None
    switches, nodes, slots = shape
    if switches * nodes * slots > MOST_SLOTS:
        return None
    return Cluster.regular(name, switches=switches, nodes=nodes, slots=slots)


def _spelled_out(name: str) -> tuple[int, int, int] | None:
    if match := _NODES_AND_SLOTS.fullmatch(name):
        nodes, slots = (int(number) for number in match.groups() if number is not None)
        return 1, nodes, slots
    if match := _SWITCHES_TOO.fullmatch(name):
        switches, nodes, slots = map(int, match.groups())
        return switches, nodes, slots
    return None
