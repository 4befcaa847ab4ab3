"""A node as the store knows it: its slots, and whether it may be used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class NodeState(StrEnum):
    """Whether a node can be used."""

    ONLINE = "online"
    OFFLINE = "offline"
    """Not heard of for longer than the node timeout: its workers count as lost."""
    DRAINING = "draining"
    """It keeps no worker and gets none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Slot:
    """One GPU, or one CPU share where there is no GPU."""

    device: str = ""
    """The device as CUDA_VISIBLE_DEVICES names it; empty for a CPU share."""
    kind: str = "cpu"
    """The model of the device."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """A machine, or a part of one."""

    name: str
    number: int
    """Ascending in the order of joining; the nodes of a cluster stand in this order."""
    revision: int
    state: NodeState
    slots: tuple[Slot, ...]
    address: str = "127.0.0.1"
    joined_at: float = 0.0
    heard_at: float = 0.0
    """When it last came online or went offline; not written at every sign of life."""
    labels: Mapping[str, str] = field(default_factory=dict)
    problem: str = ""
    """Why its supervisor can start no worker, for which the platform drains it; empty if it can."""
