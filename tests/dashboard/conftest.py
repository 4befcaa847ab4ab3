"""One platform with two nodes of four slots, one browser and one visitor for each test of pages."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser
from tests.dashboard.browser import Visitor, a_browser, chromium
from tests.e2e.platform import Platform

from tenuto.client.plain import PlainClient


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    directory = tmp_path_factory.mktemp("platform")
    made = Platform(directory, "--nodes", "2", "--slots", "4", "--start-cost", "0.5", "--rescale-cost", "0.5")
    try:
        made.up()
        yield made
        made.down()
        made.leaves_nothing()
    finally:
        made.end()


@pytest.fixture(scope="module")  # not longer: while it is open, no other test of this process can run a loop
def browser() -> Iterator[Browser]:
    if chromium() is None:
        pytest.skip("chromium is not installed")
    with a_browser() as opened:
        yield opened


@pytest.fixture
def client(platform: Platform) -> Iterator[PlainClient]:
    """The REST interface; what a test submits is cancelled after it, so that the next finds the slots free."""
    with platform.client(patience=10.0) as opened:
        yield opened
        for job in opened.jobs(limit=200)["items"]:
            if job["ended_at"] is None and job["state"] != "declined":
                opened.act(job["id"], "cancel")


@pytest.fixture
def visitor(platform: Platform, browser: Browser) -> Iterator[Visitor]:
    made = Visitor(platform, browser)
    yield made
    made.close()
