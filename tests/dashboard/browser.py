"""A real browser for tests of pages: Debian's Chromium, driven by Playwright.

Nothing of a page may go wrong unseen: what it writes to its console as an error, and every request that leaves this
machine, fails the test that looks at it.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, sync_playwright
from tests.e2e.platform import Platform

PATIENCE = 60_000.0
"""Milliseconds after which something is taken never to appear."""
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def chromium() -> str | None:
    """Where it is; None if it is not installed."""
    return shutil.which("chromium")


@contextmanager
def a_browser() -> Iterator[Browser]:
    """A browser of its own."""
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=chromium(), args=list(FLAGS), headless=True)
        try:
            yield opened
        finally:
            opened.close()


class Visitor:
    """Somebody who looks at a platform's pages, logged in."""

    def __init__(self, platform: Platform, browser: Browser, **options: Any) -> None:
        self.platform = platform
        self.context: BrowserContext = browser.new_context(
            **{
                "viewport": {"width": 1360, "height": 900},
                "timezone_id": "Asia/Seoul",
                "locale": "en-GB",
                **options,
            }
        )
        self.context.set_default_timeout(PATIENCE)
        self.troubles: list[str] = []
        self.forgiving = False
        """While a server is away, its pages may complain."""
        self.context.on("request", lambda request: self._asked(request.url))
        self.page = self.tab()
        self.enter()

    def enter(self) -> None:
        """Log in, by a link as `tenuto open` gives it."""
        with self.platform.client(patience=10.0) as client:
            path = client.page()["path"]
        self.page.goto(self.url(path))
        self.page.wait_for_selector(".t-page")

    def tab(self) -> Page:
        """One more tab."""
        page = self.context.new_page()
        page.on("console", self._said)
        page.on("pageerror", lambda error: self._trouble(f"error: {error}"))
        return page

    def url(self, path: str) -> str:
        """A page's address."""
        return str(self.platform.told["url"]) + path

    def go(self, path: str) -> Page:
        """Look at a page; it is there when it is connected."""
        self.page.goto(self.url(path))
        self.page.wait_for_selector(".t-page")
        return self.page

    def close(self) -> None:
        """Go, and tell what went wrong."""
        self.context.close()
        assert self.troubles == []

    def _said(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self._trouble(f"console: {message.text} ({message.location.get('url', '')})")

    def _trouble(self, text: str) -> None:
        if not self.forgiving:
            self.troubles.append(text)

    def _asked(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("data", "blob", "about") and parts.hostname != "127.0.0.1":
            self.troubles.append(f"asked for {url}")
