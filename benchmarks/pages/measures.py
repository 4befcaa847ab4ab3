"""What a page weighs, when it is useful, how soon it hears of something, and what fifty of them cost the controller."""

from __future__ import annotations

import asyncio
import re
import statistics
import time
from collections.abc import Mapping
from typing import Any

import httpx
from benchmarks.control.figures import Report, quantile
from benchmarks.control.server import Served
from playwright.sync_api import Browser, Page
from tests.dashboard.sockets import Tabs

LIVE = {
    "name": "live",
    "run": "true",
    "workers": "1..8",
    "total": 100_000,
    "curve": {"1": 1, "2": 1.9, "4": 3.5},
}
USEFUL = {
    "/": ".t-figure",
    "/timeline": "canvas",
    "/jobs": "tbody tr a",
    "/nodes": "tbody tr a",
    "/nodes/node-0007": "canvas",
    "/scaling": "tbody tr",
}
"""Pages, and what must be seen before they are of use."""
SETTLED = 3.0
"""Seconds after which a page has been told what it shows."""
_COUNT = re.compile(r"^tenuto_(round|controller_tick)_duration_seconds_(sum|count) (\S+)$", re.MULTILINE)


def weigh(report: Report, served: Served, browser: Browser) -> None:
    """Bytes and times of each page, in a browser that has seen the scripts before."""
    context = browser.new_context(viewport={"width": 1360, "height": 900})
    page = context.new_page()
    with served.client() as client:
        page.goto(served.address.url + client.page()["path"])
    page.wait_for_selector(".t-nav")
    for path in USEFUL:
        _visit(
            page, served.address.url + path, USEFUL[path]
        )  # scripts are in the browser's cache from now on
    for path, useful in USEFUL.items():
        told = [_visit(page, served.address.url + path, useful) for _ in range(3)]
        report.add(
            "Pages",
            {
                "page": path,
                "kB of the page": max(one["page"] for one in told) / 1e3,
                "kB pushed in 3 s": max(one["pushed"] for one in told) / 1e3,
                "useful after ms": statistics.median(one["useful"] for one in told),
            },
        )
    context.close()


def _visit(page: Page, url: str, useful: str) -> Mapping[str, float]:
    heard: list[int] = []
    page.on(
        "websocket",
        lambda socket: socket.on("framereceived", lambda frame: heard.append(len(frame))),
    )
    begun = time.perf_counter()
    answer = page.goto(url)
    assert answer is not None
    page.wait_for_selector(useful, state="attached")
    took = time.perf_counter() - begun
    page.wait_for_timeout(1e3 * SETTLED)
    return {"page": len(answer.body()), "pushed": sum(heard), "useful": 1e3 * took}


def delays(report: Report, served: Served, browser: Browser, times: int) -> None:
    """From the moment in which an event is stored to the moment in which the browser has drawn it."""
    page = browser.new_context().new_page()
    with served.client() as client:
        page.goto(served.address.url + client.page()["path"])
        page.goto(served.address.url + "/jobs")
        page.wait_for_selector(".t-nav")
        page.wait_for_timeout(1e3 * SETTLED)
        page.evaluate(_WATCH)
        submitted = {}
        for number in range(times):
            name = f"hear-of-{number}"
            submitted[name] = time.time()
            client.submit({**LIVE, "name": name})
            page.wait_for_timeout(1e3)
        page.wait_for_function(f"Object.keys(window.seenJobs).length >= {times}", timeout=60_000)
        seen: dict[str, float] = page.evaluate("window.seenJobs")
    behind = [seen[name] / 1e3 - at for name, at in submitted.items()]
    report.add(
        "From the request to the browser's page",
        {
            "submissions": times,
            "p50 ms": 1e3 * quantile(behind, 0.5),
            "p90 ms": 1e3 * quantile(behind, 0.9),
            "longest ms": 1e3 * max(behind),
        },
    )
    page.context.close()


_WATCH = """() => {
  window.seenJobs = {};
  const look = () => { for (const link of document.querySelectorAll('a')) {
    const found = /hear-of-\\d+/.exec(link.textContent);
    if (found && !(found[0] in window.seenJobs)) window.seenJobs[found[0]] = Date.now();
  } };
  new MutationObserver(look).observe(document.body, { subtree: true, childList: true, characterData: true });
}"""


def rounds(report: Report, served: Served, pages: int, jobs: int) -> None:
    """The same submissions with no page open, and with many."""
    for count in (0, pages):
        asyncio.run(_rounds(report, served, count, jobs))


async def _rounds(report: Report, served: Served, pages: int, jobs: int) -> None:
    with served.client() as client:
        async with Tabs(served.address.url, client.page()["path"]) as tabs:
            paths = list(USEFUL)
            for number in range(pages):
                await tabs.open(paths[number % len(paths)])
            await asyncio.sleep(SETTLED)
            before, cpu, begun = await asyncio.to_thread(_told, served), served.cpu, time.perf_counter()
            for _ in range(jobs):
                await asyncio.to_thread(client.submit, {**LIVE, "deadline": "+1000h"})
                await asyncio.sleep(0.2)
            after, passed = await asyncio.to_thread(_told, served), time.perf_counter() - begun
            report.add(
                "Open pages and the controller", _row(pages, before, after, served.cpu - cpu, passed, tabs)
            )


def _row(
    pages: int, before: Mapping[str, float], after: Mapping[str, float], cpu: float, passed: float, tabs: Any
) -> dict[str, Any]:
    def mean(what: str) -> float:
        count = after[f"{what}_count"] - before[f"{what}_count"]
        return 1e3 * (after[f"{what}_sum"] - before[f"{what}_sum"]) / max(count, 1.0)

    pushed = sum(len(text) for tab in tabs.tabs for text in tab.heard)
    return {
        "open pages": pages,
        "a round, ms": mean("round"),
        "a tick, ms": mean("controller_tick"),
        "server's processors": cpu / passed,
        "kB/s pushed to a page": pushed / 1e3 / passed / pages if pages else 0.0,
    }


def _told(served: Served) -> dict[str, float]:
    """How long rounds and ticks took so far, as Prometheus is told."""
    header = {"Authorization": f"Bearer {served.address.token}"}
    page = httpx.get(f"{served.address.url}/metrics", headers=header, timeout=60.0, trust_env=False).text
    return {f"{what}_{part}": float(value) for what, part, value in _COUNT.findall(page)}
