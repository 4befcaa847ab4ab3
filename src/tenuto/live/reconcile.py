"""What has happened since the last tick, as new records: nodes that came or went, then every job in turn. Pure."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from tenuto.engines.base import NodeSeen, Observation
from tenuto.live.change import CONTROLLER, Change
from tenuto.live.mirror import Records
from tenuto.live.sight import Sight
from tenuto.live.walk import walk
from tenuto.model.event import Event
from tenuto.model.node import Node, NodeState
from tenuto.wire.worker import WorkerId, WorkerOrder

Look: TypeAlias = Callable[[Change, Sight, Records], Change]


@dataclass(frozen=True, slots=True)
class Watch:
    """How long a node may be silent, since when this controller watches, and what it has ordered so far."""

    timeout: float
    """Seconds by the engine's listening clock."""
    since: float
    """The reading of that clock when the controller began: no earlier silence counts."""
    orders: Mapping[WorkerId, WorkerOrder] = field(default_factory=dict)

    def remaining(self, seen: Observation, node: str) -> float:
        """Seconds of listening after which a node will have been silent for too long; negative if it has been."""
        return self.timeout - seen.silence(node, self.since)


@dataclass(frozen=True)
class News:
    """The records as they are now, and what must be written for it."""

    changes: Mapping[str, Change]
    """Every live job, changed or not, by id."""
    nodes: Mapping[str, Node]
    """Every node, new ones too."""
    changed_nodes: tuple[Node, ...]
    events: tuple[Event, ...]
    """About nodes."""
    sight: Sight


def reconcile(
    records: Records,
    seen: Observation,
    left: Mapping[str, float],
    now: float,
    watch: Watch,
    look: Look = walk,
) -> News:
    """Compare what is seen with what is recorded; `look` brings one job up to date."""
    nodes, changed, events = _nodes(records.nodes, seen, now, watch)
    sight = Sight(seen, nodes, _silent(nodes, seen, watch), records.attempts, watch.orders)
    changes = {id_: look(Change.of(job, now, left[id_]), sight, records) for id_, job in records.jobs.items()}
    return News(changes, nodes, tuple(changed), tuple(events), sight)


def _silent(nodes: Mapping[str, Node], seen: Observation, watch: Watch) -> frozenset[str]:
    """Nodes that have not been heard of for too long."""
    return frozenset(name for name in nodes if watch.remaining(seen, name) < 0.0)


def _nodes(
    known: Mapping[str, Node], seen: Observation, now: float, watch: Watch
) -> tuple[Mapping[str, Node], list[Node], list[Event]]:
    nodes, changed, events = dict(known), [], []
    silent = _silent({**known, **_strangers(known, seen, now)}, seen, watch)
    for name, new in _strangers(known, seen, now).items():
        if name not in silent:
            nodes[name] = new
            changed.append(new)
            events.append(_told(new, "", "joined with " + _slots(new), now))
    for name, node in known.items():
        after, reason = _met(node, seen.nodes.get(name), name in silent, now)
        if after is not node:
            nodes[name] = after
            changed.append(after)
            events.append(_told(after, node.state.value, reason, now))
    return nodes, changed, events


def _strangers(known: Mapping[str, Node], seen: Observation, now: float) -> Mapping[str, Node]:
    return {
        name: Node(
            name=name,
            number=2**31 + index,  # after all others, until the store gives it a number
            revision=0,
            state=NodeState.ONLINE,
            slots=one.slots,
            address=one.address,
            joined_at=now,
            heard_at=now,
            labels=dict(one.labels),
        )
        for index, (name, one) in enumerate(sorted(seen.nodes.items()))
        if name not in known
    }


def _met(node: Node, seen: NodeSeen | None, silent: bool, now: float) -> tuple[Node, str]:
    """A known node as it is now, and why it is another than before."""
    if silent:
        if node.state is NodeState.ONLINE:
            return replace(node, state=NodeState.OFFLINE, heard_at=now), "nothing was heard of it"
        return node, ""
    if seen is None:
        return node, ""
    reason = ""
    if (node.slots, node.address) != (seen.slots, seen.address):
        node = replace(node, slots=seen.slots, address=seen.address)
        reason = "now with " + _slots(node)
    if node.labels != seen.labels:
        node = replace(node, labels=dict(seen.labels))
        reason = reason or "now with other labels"
    if node.state is NodeState.OFFLINE:
        node = replace(node, state=NodeState.ONLINE, heard_at=now)
        reason = "heard of again"
    if seen.problem and node.state is NodeState.ONLINE:
        return replace(node, problem=seen.problem, state=NodeState.DRAINING), seen.problem
    if node.problem and not seen.problem:
        return replace(node, problem="", state=NodeState.ONLINE), "its supervisor works again"
    return node, reason


def _told(node: Node, before: str, reason: str, now: float) -> Event:
    return Event(
        kind="node",
        at=now,
        actor=CONTROLLER if node.state is NodeState.OFFLINE else f"node:{node.name}",
        node=node.name,
        before=before,
        after=node.state.value,
        reason=reason,
        data={"slots": len(node.slots)},
    )


def _slots(node: Node) -> str:
    return f"{len(node.slots)} slot{'' if len(node.slots) == 1 else 's'}"
