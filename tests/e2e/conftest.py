"""One platform for a whole module: three nodes of four slots; after it, nothing may be left."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.e2e.platform import Platform

from tenuto.client.plain import PlainClient


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    directory = tmp_path_factory.mktemp("platform")
    made = Platform(directory, "--nodes", "3", "--slots", "4", "--start-cost", "0.5", "--rescale-cost", "0.5")
    try:
        made.up()
        yield made
        made.down()
        made.leaves_nothing()
    finally:
        made.end()


@pytest.fixture
def client(platform: Platform) -> Iterator[PlainClient]:
    """The REST interface; what a test submits is cancelled after it, so that the next finds the slots free."""
    with platform.client(patience=10.0) as opened:
        yield opened
        for job in opened.jobs(limit=200)["items"]:
            if job["ended_at"] is None and job["state"] != "declined":
                opened.act(job["id"], "cancel")
