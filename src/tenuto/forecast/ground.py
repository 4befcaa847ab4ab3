"""Which nodes there were when, from the nodes of today and the events about them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import NamedTuple

from tenuto.model.event import Event
from tenuto.model.node import Node, NodeState

REMOVED = "removed"


class Shift(NamedTuple):
    """From a moment on a node has so many slots that can be used."""

    at: float
    node: str
    slots: int


@dataclass(frozen=True)
class Ground:
    """All nodes of a time, and their comings and goings."""

    slots: Mapping[str, int]
    """The most slots that each node had, by name, in the order in which they joined."""
    first: Mapping[str, int]
    """The slots of each node that could be used at the beginning."""
    shifts: tuple[Shift, ...]
    """In the order of time."""

    @property
    def total(self) -> int:
        """Slots of all nodes that ever were."""
        return sum(self.slots.values())

    def usable_at(self, moment: float) -> dict[str, int]:
        """The slots of each node at a moment, without those that could not be used."""
        found = dict(self.first)
        for shift in self.shifts:
            if shift.at <= moment:
                found[shift.node] = shift.slots
        return {name: slots for name, slots in found.items() if slots}


class Longest(NamedTuple):
    """The nodes that were there longest."""

    nodes: Mapping[str, int]
    share: float
    """Of the time looked at."""
    changes: int
    """How often they changed in that time."""


def ground_of(nodes: Sequence[Node], events: Iterable[Event]) -> Ground:
    """Tell by the nodes of today and all events about nodes, oldest first, what was there before."""
    known = {node.name: node for node in sorted(nodes, key=lambda node: node.number)}
    by_node: dict[str, list[Event]] = {name: [] for name in known}
    gone: dict[str, list[Event]] = {}
    for event in events:
        (by_node if event.node in known else gone).setdefault(event.node, []).append(event)
    slots: dict[str, int] = {}
    first: dict[str, int] = {}
    shifts: list[Shift] = []
    for name, told in (*by_node.items(), *gone.items()):
        begin, moves = _walk(known.get(name), name, told)
        first[name] = begin
        shifts += moves
        slots[name] = max([begin, *(move.slots for move in moves)])
    shifts.sort(key=lambda shift: shift.at)
    present = {name: count for name, count in slots.items() if count}
    return Ground(present, {name: first[name] for name in present}, tuple(shifts))


def _walk(node: Node | None, name: str, told: Sequence[Event]) -> tuple[int, list[Shift]]:
    """A node's slots at the beginning, and every change of them."""
    counts = [event.data["slots"] for event in told if "slots" in event.data]
    count = int(counts[0]) if counts else (0 if node is None else len(node.slots))
    if not told:
        assert node is not None, "whoever is gone was told of"
        online = node.state is NodeState.ONLINE
        return 0, [Shift(node.joined_at, name, count)] if online else []
    begin = count if told[0].before == NodeState.ONLINE else 0
    moves: list[Shift] = []
    for event in told:
        count = int(event.data.get("slots", count))
        moves.append(Shift(event.at, name, count if event.after == NodeState.ONLINE else 0))
    return begin, moves


def longest(ground: Ground, since: float, until: float) -> Longest:
    """The nodes that were there together for the longest part of a time."""
    moments = sorted({since, until, *(shift.at for shift in ground.shifts if since < shift.at < until)})
    lasted: dict[tuple[tuple[str, int], ...], float] = {}
    spans = [(tuple(ground.usable_at(begin).items()), end - begin) for begin, end in pairwise(moments)]
    for nodes, seconds in spans:
        if nodes:
            lasted[nodes] = lasted.get(nodes, 0.0) + seconds
    if not lasted:
        return Longest(ground.usable_at(until), 1.0, 0)
    best = max(lasted, key=lambda nodes: (lasted[nodes], nodes))
    changes = sum(1 for _ in groupby(nodes for nodes, _ in spans)) - 1
    return Longest(dict(best), lasted[best] / (until - since), changes)
