"""Nodes in a browser: drained by a button, and a machine with six GPUs that are none."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.dashboard.browser import PATIENCE, Visitor
from tests.e2e.gpus import GpuPlatform
from tests.e2e.jobs import FOREVER, a_job
from tests.e2e.platform import Platform
from tests.nvml.gpus import GIB, Process, some_gpus

LINES = """const lines = title => {
    const drawn = document.querySelector(`[role=img][aria-label^="${title}"]`);
    return getElement(Number(drawn.id.slice(1))).chart?.getOption().series ?? [];
};
const charts = ["GPU utilisation", "GPU power", "GPU memory used"].map(lines);
const last = charts.map(chart => chart.map(line => line.data.at(-1)?.[1]));"""
"""What the charts of GPUs show: their lines, and the newest value of each."""


def until(page: Page, is_so: str) -> None:
    """Wait until something is true of the charts of GPUs."""
    page.wait_for_function(f"() => {{ {LINES} return {is_so}; }}", timeout=PATIENCE)


def test_a_node_is_drained_and_used_again_by_buttons(platform: Platform, visitor: Visitor) -> None:
    page = visitor.go("/nodes")
    expect(page.get_by_text("2 online")).to_be_visible(timeout=PATIENCE)
    expect(page.get_by_role("link", name="node-0")).to_have_attribute("href", "/nodes/node-0")

    page.get_by_label("Search").fill("node-1")
    expect(page.get_by_role("link", name="node-0")).to_have_count(0)
    page.get_by_role("button", name="Drain node-1").click()
    page.get_by_role("dialog").get_by_role("button", name="Drain").click()

    expect(page.get_by_text("1 online, 1 draining")).to_be_visible(timeout=PATIENCE)
    page.get_by_role("link", name="node-1").click()
    expect(page.locator(".t-figure")).to_have_text("draining")
    page.get_by_role("button", name="Undrain").click()
    expect(page.locator(".t-figure")).to_have_text("online", timeout=PATIENCE)
    expect(page.get_by_text("Is draining")).to_be_visible(timeout=PATIENCE)


def test_nodes_are_sorted_by_the_server(platform: Platform, visitor: Visitor) -> None:
    page = visitor.go("/nodes")
    names = page.locator(".q-table tbody a")
    expect(names).to_have_text(["node-0", "node-1"], timeout=PATIENCE)

    head = page.get_by_role("columnheader", name="Node")
    head.click()
    expect(names).to_have_text(["node-0", "node-1"])
    head.click()
    expect(names).to_have_text(["node-1", "node-0"])


def test_a_node_that_is_not_there_has_a_page_that_says_so(visitor: Visitor) -> None:
    page = visitor.go("/nodes/nobody")
    expect(page.get_by_text("There is no node called nobody")).to_be_visible()
    page.get_by_role("link", name="All nodes").click()
    expect(page).to_have_url(visitor.url("/nodes"))


@pytest.fixture
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GpuPlatform]:
    """A platform on a machine with six GPUs."""
    made = GpuPlatform(tmp_path_factory.mktemp("machine"), "--start-cost", "0.5", "--rescale-cost", "0.5")
    made.gpus.show(*some_gpus(6))
    try:
        made.up()
        yield made
        made.down()
        made.leaves_nothing()
    finally:
        made.end()


def test_six_gpus_have_three_charts_with_six_lines_that_follow_the_driver(
    machine: GpuPlatform, browser: Browser
) -> None:
    with machine.client(patience=10.0) as client:
        job = client.submit(a_job("훈련", FOREVER, workers="2..2"))["id"]
        machine.wait_for(job, "running")
    (worker, *_) = machine.workers().values()
    visitor = Visitor(machine, browser)
    page = visitor.go("/nodes/node-0")

    expect(page.get_by_role("img", name="GPU")).to_have_count(3)
    until(
        page,
        "charts.every(chart => chart.map(line => line.name).join() === 'GPU 0,GPU 1,GPU 2,GPU 3,GPU 4,GPU 5')",
    )

    machine.gpus.change(4, utilisation=77, power=222_000, memory_used=11 * GIB)
    machine.gpus.change(0, processes=(Process(worker.pid, 2 * GIB),))
    until(page, f"last[0][4] === 77 && last[1][4] === 222 && Math.abs(last[2][4] / {11 * GIB} - 1) < 0.001")
    row = page.get_by_role("row", name="0 Test GPU", exact=False).first
    expect(row.get_by_role("link", name="훈련")).to_have_attribute("href", f"/jobs/{job}", timeout=PATIENCE)

    machine.gpus.change(5, lost=True)
    expect(page.get_by_role("alert")).to_have_text(
        "GPU 5 is lost: the driver does not find it any more.", timeout=PATIENCE
    )
    until(page, "last[0][5] === null && last[0][4] === 77")

    (sampler,) = [one for one in machine.processes() if "tenuto.monitor.sampler" in " ".join(one.cmdline())]
    sampler.kill()
    expect(page.get_by_text("the sampler was killed by SIGKILL").first).to_be_visible(timeout=PATIENCE)
    until(page, "charts[0][0].markArea.data.length === 1")

    page.get_by_role("button", name="7 days").click()
    until(page, "charts.every(chart => chart.length === 6 && chart[0].data.length < 340)")
    visitor.close()
