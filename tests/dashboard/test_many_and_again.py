"""Many pages at once, a server that is started again under them, and every link of every page."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, expect
from tests.dashboard.browser import PATIENCE, Visitor
from tests.dashboard.sockets import Tabs
from tests.e2e.jobs import FOREVER, a_job
from tests.e2e.platform import Platform

from tenuto.client.plain import PlainClient
from tenuto.dashboard.frame import NAVIGATION

PAGES = [entry.path for entry in NAVIGATION]
MOST_PAGES = 60
"""That a crawl looks at; more would be pages of further jobs and nodes."""


@pytest.fixture
def running(client: PlainClient, platform: Platform) -> str:
    """A job that does not end by itself, with a name of many scripts."""
    job = str(client.submit(a_job("훈련 żółw 训练", FOREVER))["id"])
    platform.wait_for(job, "running")
    return job


def test_a_hundred_pages_hear_of_a_change_beside_three_in_a_browser(
    platform: Platform, visitor: Visitor, client: PlainClient
) -> None:
    tabs = [visitor.page, visitor.tab(), visitor.tab()]
    for tab in tabs:
        tab.goto(visitor.url("/jobs"))
        tab.wait_for_selector(".t-nav")

    async def story() -> None:
        async with Tabs(platform.told["url"], client.page()["path"]) as crowd:
            for number in range(100):
                await crowd.open(("/jobs", "/", "/nodes", "/scaling")[number % 4])
            job = await asyncio.to_thread(client.submit, a_job("all-hear-of-me", FOREVER))
            # The first three kinds of page name the job itself; that of nodes shows that a slot is taken.
            await asyncio.gather(
                *(tab.hears("all-hear-of-me" if tab.path != "/nodes" else "update") for tab in crowd.tabs)
            )
            assert job["id"]

    with ThreadPoolExecutor() as pool:  # the browser has a loop in this thread already
        pool.submit(asyncio.run, story()).result()
    for tab in tabs:
        expect(tab.get_by_role("link", name="all-hear-of-me").first).to_be_visible(timeout=PATIENCE)


def test_a_page_behind_others_is_drawn_when_it_is_seen_again(visitor: Visitor, client: PlainClient) -> None:
    behind, before = visitor.go("/jobs"), visitor.tab()
    before.goto(visitor.url("/jobs"))
    behind.evaluate("window.emitEvent('visibility', false)")  # what page.js tells when a tab is covered
    before.wait_for_selector(".t-nav")

    client.submit(a_job("who-sees-me", FOREVER))
    expect(before.get_by_role("link", name="who-sees-me").first).to_be_visible(timeout=PATIENCE)
    expect(behind.get_by_role("link", name="who-sees-me")).to_have_count(0)

    behind.evaluate("window.emitEvent('visibility', true)")
    expect(behind.get_by_role("link", name="who-sees-me").first).to_be_visible(timeout=PATIENCE)


def test_every_page_says_that_the_server_is_gone_and_recovers_when_it_is_back(
    platform: Platform, visitor: Visitor, running: str
) -> None:
    tabs = [visitor.page, visitor.tab(), visitor.tab()]
    for tab, path in zip(tabs, ("/", "/jobs", f"/jobs/{running}"), strict=True):
        tab.goto(visitor.url(path))
        tab.wait_for_selector(".t-nav")
    visitor.forgiving = True

    platform.kill()
    for tab in tabs:
        expect(tab.get_by_text("Connection lost")).to_be_visible(timeout=PATIENCE)
    platform.up()

    with platform.client(patience=30.0) as client:
        client.submit(a_job("came-afterwards", FOREVER))
    expect(tabs[1].get_by_role("link", name="came-afterwards").first).to_be_visible(timeout=PATIENCE)
    for tab in tabs:
        expect(tab.get_by_text("Connection lost")).to_be_hidden(timeout=PATIENCE)
    expect(tabs[2].get_by_text("running").first).to_be_visible(timeout=PATIENCE)


def test_no_link_of_any_page_is_dead_and_no_page_complains(visitor: Visitor, running: str) -> None:
    page, seen = visitor.page, set[str]()
    waiting = [*PAGES, f"/jobs/{running}"]
    while waiting and len(seen) < MOST_PAGES:
        path = waiting.pop(0)
        if path in seen:
            continue
        seen.add(path)
        answer = page.goto(visitor.url(path))
        assert answer is not None and answer.status == 200, f"{path}: {answer and answer.status}"
        page.wait_for_selector(".t-nav")
        expect(page.get_by_text("Nothing here yet.")).to_have_count(0)
        waiting += inner_links(page.content())
    assert {f"/jobs/{running}", "/nodes/node-0", *PAGES} <= seen


def inner_links(html: str) -> Iterator[str]:
    """Where a page leads to on this server; no page leads anywhere else."""
    for link in re.findall(r'<a\b[^>]*\bhref="([^"]*)"', html):
        parts = urlsplit(link)
        assert not parts.netloc, f"{link} leads away"
        if parts.path.startswith("/") and not parts.path.startswith(("/api/", "/_nicegui", "/page/")):
            yield parts.path


def test_no_file_of_a_page_names_another_server() -> None:
    root = Path(__file__).parents[2] / "src" / "tenuto" / "dashboard"
    for file in (*root.rglob("*.py"), *root.rglob("*.css"), *root.rglob("*.js")):
        for address in re.findall(r"https?://[^\s\"'`<>)]+", file.read_text(encoding="utf-8")):
            assert address.startswith(("http://localhost", "http://www.w3.org/")), f"{file.name}: {address}"


def test_no_page_holds_a_secret(platform: Platform, visitor: Visitor, running: str, browser: Browser) -> None:
    secrets = [(platform.home / name).read_text().strip() for name in ("token", "node-token", "page-key")]
    for path in (*PAGES, f"/jobs/{running}", "/nodes/node-0"):
        shown = visitor.go(path).content()
        assert [one for one in secrets if one in shown] == []
