"""Two nodes for stories about crews. Starting supervisors is what takes long, so the stories share them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.engines.supervisor.crews.ballroom import Ballroom, Troupe, a_ballroom


@pytest.fixture(scope="package")
def ballroom(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ballroom]:
    with a_ballroom(tmp_path_factory.mktemp("무도회장")) as one:
        yield one


@pytest.fixture
def troupe(ballroom: Ballroom, tmp_path: Path) -> Iterator[Troupe]:
    """One job; afterwards nothing of it runs, and nothing is remembered of it."""
    one = Troupe(ballroom, tmp_path)
    yield one
    one.disband()
    supervisors = {node.pid for node in ballroom.nodes.values()}
    one.desk.until(lambda: ballroom.pids() == supervisors)
    one.desk.until(
        lambda: not any(list((node.directory / "crews").iterdir()) for node in ballroom.nodes.values())
    )
