"""What is recorded of nodes that come, and come back as others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from tenuto.engines.base import NodeSeen, Observation
from tenuto.live.mirror import Records
from tenuto.live.reconcile import News, Watch, reconcile
from tenuto.model.node import Node, NodeState, Slot


def seen(*nodes: Node, slots: int = 2, problem: str = "", **labels: str) -> News:
    one = NodeSeen(
        name="węzeł",
        slots=(Slot(),) * slots,
        address="10.0.0.7",
        heard_at=5.0,
        listened_at=5.0,
        labels=labels,
        problem=problem,
    )
    known: Mapping[str, Node] = {node.name: node for node in nodes}
    return reconcile(Records(nodes=known), Observation({"węzeł": one}, {}, 5.0), {}, 5.0, Watch(15.0, 0.0))


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


def test_a_node_whose_supervisor_cannot_work_is_drained_until_it_can() -> None:
    [node] = seen().changed_nodes

    [broken] = seen(node, problem="its directory was deleted").changed_nodes
    again = seen(broken, problem="its directory was deleted")
    [whole] = seen(broken).changed_nodes

    assert (broken.state, broken.problem) == (NodeState.DRAINING, "its directory was deleted")
    assert again.changed_nodes == ()
    assert (whole.state, whole.problem) == (NodeState.ONLINE, "")


def test_a_node_that_a_user_drained_stays_so_whatever_its_supervisor_says() -> None:
    [node] = seen().changed_nodes
    drained = replace(node, state=NodeState.DRAINING)

    assert seen(drained, problem="its directory was deleted").changed_nodes == ()
    assert seen(drained).changed_nodes == ()


@pytest.mark.parametrize(("listened", "offline"), [(20.0, False), (20.5, True)])
def test_silence_is_counted_by_the_listening_clock_whatever_the_clock_on_the_wall_says(
    listened: float, offline: bool
) -> None:
    [node] = seen(rack="7").changed_nodes
    known = {node.name: node}
    heard = NodeSeen(
        name=node.name,
        slots=node.slots,
        address=node.address,
        heard_at=5.0,
        listened_at=5.0,
        labels=node.labels,
    )

    news = reconcile(
        Records(nodes=known), Observation({node.name: heard}, {}, listened), {}, 7200.0, Watch(15.0, 0.0)
    )

    assert (news.nodes[node.name].state is NodeState.OFFLINE) is offline


def test_a_node_that_was_never_heard_of_is_given_its_time_from_when_the_controller_began() -> None:
    [node] = seen().changed_nodes

    def state(listened: float) -> NodeState:
        observation = Observation({}, {}, listened)
        news = reconcile(Records(nodes={node.name: node}), observation, {}, 0.0, Watch(15.0, 100.0))
        return news.nodes[node.name].state

    assert (state(115.0), state(115.5)) == (NodeState.ONLINE, NodeState.OFFLINE)
