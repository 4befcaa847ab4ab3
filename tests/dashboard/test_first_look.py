"""The first look: log in, see the cluster, be sent away without a session."""

from __future__ import annotations

import httpx
from playwright.sync_api import Browser, expect
from tests.dashboard.browser import Visitor
from tests.e2e.platform import Platform


def test_whoever_has_the_token_sees_the_cluster(platform: Platform, browser: Browser) -> None:
    page = browser.new_context().new_page()
    page.goto(platform.told["url"] + "/")
    page.get_by_label("Token").fill("wrong")
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("alert")).to_contain_text("not known here")

    page.get_by_label("Token").fill((platform.home / "token").read_text())
    page.get_by_role("button", name="Log in").click()

    expect(page.get_by_text("of 8")).to_be_visible()
    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_label("Token")).to_be_visible()
    page.context.close()


def test_a_link_opens_the_page_once(platform: Platform, visitor: Visitor) -> None:
    expect(visitor.page.get_by_text("of 8")).to_be_visible()
    link = platform.cli("open").strip()
    assert httpx.get(link).status_code == httpx.codes.SEE_OTHER
    assert httpx.get(link).status_code == httpx.codes.UNAUTHORIZED
    told = platform.json("open")
    assert told["url"].startswith(platform.told["url"])
    assert told["seconds"] == 60
