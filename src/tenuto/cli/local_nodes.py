"""Which nodes this machine shall have: what was asked for now, else what was asked for last time, else one."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from tenuto.cli.home import Home
from tenuto.cli.plan import LocalWish
from tenuto.engines.inventory import find_gpus, find_slots
from tenuto.engines.keeper import LEFT, LocalNode
from tenuto.errors import InputInvalid
from tenuto.gpus_here import DriverSilent

PREFIX = "node-"


def local_shape(wish: LocalWish, last: Mapping[str, Any] | None) -> dict[str, int | None]:
    """How many nodes, and how many CPU slots each (None for its GPUs or processors), as the store remembers it."""
    last = last or {}
    if wish.none:
        return {"nodes": 0, "slots": None}
    nodes = wish.nodes or last.get("nodes", 1)
    slots = last.get("slots") if wish.slots is None else wish.slots or None
    if nodes > 1 and slots is None:
        slots = _share(nodes)
    return {"nodes": nodes, "slots": slots}


def local_nodes(home: Home, shape: Mapping[str, int | None]) -> list[LocalNode]:
    """The nodes of that shape: node-0, node-1 …"""
    return [_node(home, f"{PREFIX}{number}", shape["slots"]) for number in range(shape["nodes"] or 0)]


def nodes_left_behind(home: Home, shape: Mapping[str, int | None]) -> list[LocalNode]:
    """Nodes of this machine that were not ended by order: something of theirs may still run."""
    return [
        _node(home, name, shape["slots"])
        for name in known_nodes(home)
        if not (home.nodes / name / LEFT).exists()
    ]


def anything_left(home: Home) -> bool:
    """Whether something of this machine's nodes may still run."""
    return any(not (home.nodes / name / LEFT).exists() for name in known_nodes(home))


def known_nodes(home: Home) -> list[str]:
    """Every node that this machine ever had."""
    return sorted(path.name for path in home.nodes.iterdir() if path.is_dir()) if home.nodes.is_dir() else []


def described(nodes: Sequence[LocalNode]) -> tuple[str, ...]:
    """A few words about each."""
    words = []
    for node in nodes:
        try:
            slots = find_slots(node.slots)
        except DriverSilent:
            words.append(f"{node.name} (GPUs whose driver does not answer)")
            continue
        kinds = "/".join(sorted({"CPU" if slot.kind == "cpu" else slot.kind for slot in slots}))
        words.append(f"{node.name} ({len(slots)} {kinds} slot{'' if len(slots) == 1 else 's'})")
    return tuple(words)


def _node(home: Home, name: str, slots: int | None) -> LocalNode:
    return LocalNode(name=name, directory=home.nodes / name, slots=slots)


def _share(nodes: int) -> int:
    """Processors for each of several virtual nodes; GPUs cannot be offered by two nodes at once."""
    if find_gpus():
        raise InputInvalid(
            f"{nodes} virtual nodes would offer the same GPUs",
            remedy="Leave --nodes out, or give --slots for nodes with CPU slots",
            field="nodes",
        )
    return max(1, len(os.sched_getaffinity(0)) // nodes)
