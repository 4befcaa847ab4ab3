"""Which nodes there were when."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.forecast.records import EPOCH, a_node

from tenuto.forecast.ground import Shift, ground_of, longest
from tenuto.model.event import Event
from tenuto.model.node import NodeState


def told(at: float, node: str, before: str, after: str, slots: int | None = 4) -> Event:
    data = {} if slots is None else {"slots": slots}
    return Event(kind="node", at=at, actor="controller", node=node, before=before, after=after, data=data)


def test_a_node_that_nobody_told_of_is_there_since_it_joined() -> None:
    ground = ground_of([replace(a_node(0), joined_at=EPOCH)], [])

    assert ground.slots == {"node-0": 4}
    assert ground.usable_at(EPOCH - 1) == {}
    assert ground.usable_at(EPOCH) == {"node-0": 4}


def test_nodes_come_and_go_and_come_again() -> None:
    events = [
        told(10, "node-0", "", "online"),
        told(20, "node-1", "", "online", 2),
        told(30, "node-0", "online", "offline"),
        told(40, "node-0", "offline", "online"),
        told(50, "node-1", "online", "draining", None),
    ]

    ground = ground_of([a_node(0), a_node(1, 2, NodeState.DRAINING)], events)

    assert ground.shifts[2:] == (Shift(30, "node-0", 0), Shift(40, "node-0", 4), Shift(50, "node-1", 0))
    assert ground.usable_at(25) == {"node-0": 4, "node-1": 2}
    assert ground.usable_at(35) == {"node-1": 2}
    assert ground.usable_at(60) == {"node-0": 4}


def test_a_node_that_was_removed_is_remembered() -> None:
    events = [told(10, "starý", "", "online", 8), told(50, "starý", "online", "removed", None)]

    ground = ground_of([a_node(0)], events)

    assert dict(ground.slots) == {"node-0": 4, "starý": 8}
    assert ground.usable_at(40)["starý"] == 8
    assert "starý" not in ground.usable_at(60)


def test_where_events_begin_in_the_middle_the_first_one_tells_what_was_before() -> None:
    ground = ground_of([a_node(0)], [told(30, "node-0", "online", "offline")])

    assert ground.usable_at(0) == {"node-0": 4}


def test_a_node_with_more_slots_than_before_has_room_for_all() -> None:
    events = [told(10, "node-0", "", "online", 2), told(30, "node-0", "online", "online", 4)]

    ground = ground_of([a_node(0)], events)

    assert (ground.total, ground.usable_at(20), ground.usable_at(30)) == (4, {"node-0": 2}, {"node-0": 4})


def test_the_cluster_of_a_time_is_the_one_that_lasted_longest() -> None:
    events = [
        told(0, "node-0", "", "online"),
        told(10, "node-1", "", "online", 8),
        told(80, "node-1", "online", "offline", 8),
    ]

    found = longest(ground_of([a_node(0), a_node(1, 8)], events), 0, 100)

    assert found.nodes == {"node-0": 4, "node-1": 8}
    assert found.share == pytest.approx(0.7)
    assert found.changes == 2
