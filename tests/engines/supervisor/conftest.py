"""A node for stories. Starting supervisors is what takes long, so the stories share one; each must leave it clean."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.engines.supervisor.node import Desk, Node, a_node


@pytest.fixture(scope="session")
def shared_node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Desk, Node]]:
    with a_node(tmp_path_factory.mktemp("공유"), by_file=True) as both:
        yield both


@pytest.fixture
def node(shared_node: tuple[Desk, Node]) -> Iterator[Node]:
    """A node that other stories use as well; afterwards nothing is wanted and nothing runs there but its supervisor."""
    desk, node = shared_node
    node.come_back()
    yield node
    node.come_back()
    desk.want()
    desk.until(lambda: not desk.engine.observe().workers)
    desk.until(lambda: node.pids() == {node.pid})


@pytest.fixture
def desk(node: Node) -> Desk:
    """The node's server."""
    return node.desk


@pytest.fixture
def own_node(tmp_path: Path) -> Iterator[Node]:
    """A node for one story."""
    with a_node(tmp_path) as (_, node):
        yield node
