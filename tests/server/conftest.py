"""A server for every test of the API."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.server.serving import Served, a_server


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    """A server with nothing in it."""
    with a_server(tmp_path) as served:
        yield served
