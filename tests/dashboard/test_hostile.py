"""Whatever people, jobs and machines call things, it is shown as it is written and never becomes part of a page."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Page, expect
from tests.dashboard.browser import PATIENCE, Visitor
from tests.e2e.gpus import GpuPlatform
from tests.e2e.jobs import a_job
from tests.nvml.gpus import GIB, Gpu, Process

IMAGE = "<img src=x onerror=window.pwned=1>"
VUE = "{{constructor.constructor('window.pwned=2')()}}"
EVIL = f"{IMAGE}</script><script>window.pwned=3</script>{VUE}${{window.pwned=4}}`"
VALUE = IMAGE + VUE
"""Values with longer names have no history."""
JOB = f"""
import itertools, json, os, time
print({EVIL!r}, flush=True)
with open(os.environ["TENUTO_REPORT"], "a") as told:
    for step in itertools.count(1):
        print(json.dumps({{"step": step, {VALUE!r}: 1.5, ":formatter": 1.5}}), file=told, flush=True)
        time.sleep(0.3)
"""
CHART = "getElement(Number(document.querySelector('.nicegui-echart').id.slice(1))).chart"


@pytest.fixture
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GpuPlatform]:
    """A platform whose only GPU has a name that somebody thought about."""
    made = GpuPlatform(tmp_path_factory.mktemp("machine"), "--start-cost", "0.5", "--rescale-cost", "0.5")
    made.gpus.show(Gpu(name=IMAGE))
    try:
        made.up()
        yield made
        made.down()
        made.leaves_nothing()
    finally:
        made.end()


def is_harmless(page: Page) -> None:
    """Nothing of all that has become part of the page."""
    assert page.evaluate("window.pwned") is None
    assert page.locator("img[src=x], script:text('pwned')").count() == 0


def reads(page: Page, text: str) -> None:
    """The page shows a text as it is written, and nothing has come of it."""
    expect(page.get_by_text(text).first).to_be_visible(timeout=PATIENCE)
    is_harmless(page)


def look_at_the_job(visitor: Visitor, job: str) -> None:
    page = visitor.go("/jobs")
    reads(page, f"team={EVIL}")
    page = visitor.go(f"/jobs/{job}?tab=logs")
    reads(page, f"team={EVIL}")
    expect(page.locator(".t-log")).to_contain_text(EVIL, timeout=PATIENCE)
    page.get_by_label("Search in the log").fill("<img")
    expect(page.locator(".t-log mark").first).to_have_text("<img")
    is_harmless(page)
    page.get_by_role("tab", name="Config").click()
    reads(page, f"```{IMAGE}")
    for tab, title in (
        ("Events", "Starts of workers"),
        ("Explain", "Why it is as it is"),
        ("Overview", "About"),
    ):
        page.get_by_role("tab", name=tab).click()
        expect(page.get_by_role("heading", name=title)).to_be_visible()
        is_harmless(page)


def hover_over_its_numbers(visitor: Visitor, job: str) -> None:
    """Tooltips are HTML: names of lines and of events stand in them."""
    page = visitor.go(f"/jobs/{job}?tab=metrics")
    told(page, VALUE, f"const at = series.findIndex(line => line.name === {json.dumps(VALUE)});")
    renamed = f"""const at = 0, data = [{{ ...series[0].data[0], name: {json.dumps(EVIL)} }}];
        chart.setOption({{ tooltip: {{ trigger: "item" }}, series: [{{ data }}] }});"""
    told(page, EVIL, renamed)


def told(page: Page, text: str, find: str) -> None:
    """Hover over a point of the line `at`, again and again, for the chart may be drawn anew in between."""
    page.wait_for_function(
        f"""() => {{
        const chart = {CHART}, series = chart?.getOption()?.series ?? [];
        if (document.querySelector(".nicegui-echart").innerText.includes({json.dumps(text)})) return true;
        if (!series.length) return false;
        {find}
        chart.dispatchAction({{ type: "showTip", seriesIndex: at, dataIndex: series[at]?.data.length >> 1 }});
        return false;
    }}""",
        polling=500,
    )
    is_harmless(page)


def look_at_the_node(visitor: Visitor, machine: GpuPlatform, tmp_path: Path) -> None:
    program = tmp_path / "<svg onload=x>"
    shutil.copy(shutil.which("sleep") or "", program)
    with subprocess.Popen([program, "100000"]) as somebody:
        machine.gpus.change(0, processes=(Process(somebody.pid, GIB),))
        page = visitor.go("/nodes/node-0")
        reads(page, IMAGE)
        reads(page, program.name)
        somebody.kill()


def look_at_addresses(visitor: Visitor, tmp_path: Path) -> None:
    """Whoever sends somebody an address chooses what stands in it."""
    evil, image = quote(EVIL, safe=""), quote(IMAGE, safe="")
    for path, field, value in (
        (f"/jobs?text={evil}&owner={evil}", "Name or id", EVIL),
        (f"/scaling?text={evil}&by={evil}", "Search", EVIL),
        (f"/whatif?set={evil}&policy={evil}&lose={evil}&deadline={evil}={evil}", "Settings", EVIL),
    ):
        page = visitor.go(path)
        expect(page.get_by_label(field, exact=True).first).to_have_value(value)
        is_harmless(page)
    for path, text in (
        (f"/nodes/{image}", f"There is no node called {IMAGE}"),
        (f"/submit?from={image}", IMAGE),
        (f"/whatif?nodes={evil}", EVIL),
        (f"/lab/{image}", "There is no such run"),
        (f"/timeline?range={evil}", "Jobs in this time"),
    ):
        reads(visitor.go(path), text)
    visitor.forgiving = True  # a page that is not there is an error of the console's
    reads(visitor.go(f"/jobs/{image}"), IMAGE)
    reads(visitor.go(f"/{image}"), "There is no such page.")
    visitor.forgiving = False

    page = visitor.go("/lab")
    page.get_by_label("Trace").click()
    page.get_by_role("option", name="A CSV file of yours").click()
    file = tmp_path / f"{IMAGE}.csv"
    file.write_text("x")
    page.locator("input[type=file]").set_input_files(file)
    reads(page, f"{IMAGE}.csv, 1 B")


def test_nothing_that_anybody_writes_becomes_part_of_a_page(
    machine: GpuPlatform, browser: Browser, tmp_path: Path
) -> None:
    with machine.client(patience=10.0) as client:
        job = client.submit(
            a_job(
                "evil",
                [sys.executable, "-S", "-c", JOB],
                labels={"team": EVIL},
                env={"A": f"1\n```{EVIL}\n```", "B": EVIL},
            )
        )["id"]
        machine.wait_for(job, "running")
    visitor = Visitor(machine, browser)
    reads(visitor.page, "evil")

    look_at_the_job(visitor, job)
    hover_over_its_numbers(visitor, job)
    look_at_the_node(visitor, machine, tmp_path)
    look_at_addresses(visitor, tmp_path)

    log = visitor.context.request.get(visitor.url(f"/jobs/{job}/log"))
    assert EVIL in log.text()
    assert log.headers["content-type"] == "text/plain; charset=utf-8"
    assert log.headers["content-disposition"] == f'attachment; filename="{job}.log"'
    assert log.headers["x-content-type-options"] == "nosniff"
    for worker_name in (IMAGE, "../../token", f"{job}.1.worker.0/../..", f"{job}.1.worker.0\r\nX-Evil: 1"):
        asked = visitor.context.request.get(visitor.url(f"/jobs/{job}/log?worker={quote(worker_name)}"))
        assert (asked.status, asked.headers["content-type"]) == (404, "text/plain; charset=utf-8")
    for name in ("..%2f..%2ftoken", "run.json", "report.csv"):
        assert not visitor.context.request.get(visitor.url(f"/lab/{quote(IMAGE)}/{name}")).ok
    visitor.close()
