"""The scaling log: what the policy does, what a user wishes, filters and CSV."""

from __future__ import annotations

from pathlib import Path

from playwright.sync_api import expect
from tests.dashboard.browser import PATIENCE, Visitor
from tests.e2e.jobs import a_toy

from tenuto.client.plain import PlainClient


def test_every_change_of_workers_appears_with_who_and_why(
    visitor: Visitor, client: PlainClient, tmp_path: Path
) -> None:
    page = visitor.go("/scaling")
    expect(page.get_by_text("No job's workers were ever changed here.")).to_be_visible()

    job = client.submit(a_toy("대학 실험", tmp_path, steps=1_000_000))["id"]
    expect(page.get_by_role("row", name="started 0 → 4")).to_contain_text("the policy", timeout=PATIENCE)

    client.scale(job, {"workers": 2})
    shrank = page.get_by_role("row", name="shrank 4 → 2")
    expect(shrank).to_contain_text("pinned by", timeout=PATIENCE)
    expect(shrank).to_contain_text("a user")
    wishes = page.get_by_role("row", name="pinned auto → 2")
    expect(wishes).to_contain_text("asked for it")
    expect(shrank.get_by_role("link", name="대학 실험")).to_have_attribute("href", f"/jobs/{job}")

    page.get_by_label("By", exact=True).click()
    page.get_by_role("option", name="the policy").click()
    expect(shrank).to_be_hidden()
    expect(page).to_have_url(visitor.url("/scaling?by=policy"))
    page.get_by_label("Search").fill("nobody was here")
    expect(page.get_by_text("Nothing matches.")).to_be_visible()
    page.get_by_role("button", name="Clear the filters").click()
    expect(shrank).to_be_visible()

    with page.expect_download() as download:
        page.get_by_role("button", name="Download as CSV").click()
    lines = Path(download.value.path()).read_text().splitlines()
    assert len(lines) >= 4 and "대학 실험" in lines[1]
