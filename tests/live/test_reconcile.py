"""What is recorded of nodes that come, and come back as others."""

from __future__ import annotations

from collections.abc import Mapping

from tenuto.engines.base import NodeSeen, Observation
from tenuto.live.mirror import Records
from tenuto.live.reconcile import News, Watch, reconcile
from tenuto.model.node import Node, Slot


def seen(*nodes: Node, slots: int = 2, **labels: str) -> News:
    one = NodeSeen(name="węzeł", slots=(Slot(),) * slots, address="10.0.0.7", heard_at=5.0, labels=labels)
    known: Mapping[str, Node] = {node.name: node for node in nodes}
    return reconcile(Records(nodes=known), Observation({"węzeł": one}, {}), {}, 5.0, Watch(15.0, 0.0))


def test_a_node_joins_with_its_labels() -> None:
    joined = seen(rack="7")

    assert joined.nodes["węzeł"].labels == {"rack": "7"}
    assert [event.reason for event in joined.events] == ["joined with 2 slots"]


def test_a_node_that_comes_back_with_other_labels_or_slots_is_recorded_anew_once() -> None:
    [node] = seen(rack="7").changed_nodes

    assert seen(node, rack="7").changed_nodes == ()
    [moved] = seen(node, rack="8").changed_nodes
    assert moved.labels == {"rack": "8"}
    assert [event.reason for event in seen(node, rack="8").events] == ["now with other labels"]
    assert [event.reason for event in seen(node, slots=3, rack="8").events] == ["now with 3 slots"]
