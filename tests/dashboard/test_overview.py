"""The overview in a browser: what an empty system says, and a job that comes and goes before one's eyes."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Browser, expect
from tests.dashboard.browser import PATIENCE, Visitor
from tests.e2e.jobs import FOREVER, a_job
from tests.e2e.platform import Platform

from tenuto.client.plain import PlainClient


def test_an_empty_system_tells_what_to_do_next(tmp_path: Path, browser: Browser) -> None:
    alone = Platform(tmp_path, "--no-local")
    try:
        visitor = Visitor(alone.up(), browser)
        page = visitor.page
        join = f"tenuto node join {alone.told['url']}"
        expect(page.get_by_text(join)).to_be_visible()
        expect(page.get_by_text("0 of 0")).to_be_visible()
        page.get_by_role("link", name="Submit the first one").click()
        expect(page).to_have_url(visitor.url("/submit"))

        visitor.go("/nodes")
        expect(page.get_by_text(join)).to_be_visible()
        visitor.close()
        alone.down()
    finally:
        alone.end()


def test_a_job_comes_and_goes_on_the_map_and_in_the_figures(visitor: Visitor, client: PlainClient) -> None:
    page = visitor.go("/")
    expect(page.get_by_text("0 of 8")).to_be_visible(timeout=PATIENCE)
    expect(page.get_by_text("elasticflow", exact=True)).to_be_visible()
    page.evaluate("() => { window.untouched = true; }")

    job = client.submit(a_job("훈련", FOREVER, workers="3..3"))["id"]

    expect(page.get_by_text("3 of 8")).to_be_visible(timeout=PATIENCE)
    cells = page.locator(f".t-map i[data-job='{job}']")
    expect(cells).to_have_count(3)
    cells.first.hover()
    expect(cells.first).to_have_attribute("title", "node-0 · slot 0 · 훈련 (running)")
    events = page.locator(".t-card", has=page.get_by_role("heading", name="Latest events"))
    expect(events.get_by_text("is running").first).to_be_visible()
    expect(events.get_by_role("link", name="훈련").first).to_have_attribute("href", f"/jobs/{job}")

    client.act(job, "cancel")

    expect(page.get_by_text("0 of 8")).to_be_visible(timeout=PATIENCE)
    expect(cells).to_have_count(0)
    assert page.evaluate("() => window.untouched"), "all this was pushed, nothing was loaded again"


def test_who_needs_somebody_is_told_and_a_click_on_a_slot_goes_there(
    visitor: Visitor, client: PlainClient
) -> None:
    failed = client.submit(a_job("fällt-um", ["false"], retry=0))["id"]
    holder = client.submit(a_job("holder", FOREVER))["id"]
    page = visitor.go("/")

    attention = page.locator(".t-card", has=page.get_by_role("heading", name="Needs attention"))
    expect(attention.get_by_text("failed")).to_be_visible(timeout=PATIENCE)
    expect(attention.get_by_role("link", name="fällt-um")).to_have_attribute("href", f"/jobs/{failed}")

    cell = page.locator(f".t-map i[data-job='{holder}']")
    expect(cell).to_have_count(1, timeout=PATIENCE)
    cell.click()
    expect(page).to_have_url(visitor.url(f"/jobs/{holder}"))
