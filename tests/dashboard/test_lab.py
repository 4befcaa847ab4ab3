"""The laboratory on the page: start, watch, see the numbers of `tenuto replay`, find them again, stop."""

from __future__ import annotations

import json
import re
from pathlib import Path

import psutil
from playwright.sync_api import Page, expect
from tests.dashboard.browser import PATIENCE, Visitor
from tests.e2e.jobs import a_job
from tests.e2e.platform import Platform, eventually

from tenuto.client.plain import PlainClient
from tenuto.sim.library import bundled


def choose(page: Page, label: str, option: str) -> None:
    """Pick something from a list."""
    page.get_by_label(label, exact=True).click()
    page.get_by_role("option", name=option).click()


def only(page: Page, *policies: str) -> None:
    """Choose these policies and no others."""
    page.get_by_role("button", name="None", exact=True).click()
    for policy in policies:
        page.get_by_role("checkbox", name=policy, exact=True).click()


def row_of(page: Page, policy: str) -> list[str]:
    """The cells of a policy's row, without its name."""
    row = page.get_by_role("row").filter(has=page.get_by_role("cell", name=policy, exact=True))
    expect(row).to_be_visible(timeout=PATIENCE)
    return row.get_by_role("cell").all_inner_texts()[1:]


def errands(platform: Platform) -> list[psutil.Process]:
    """The processes of runs."""
    return [one for one in platform.processes() if "tenuto.lab.errand" in one.cmdline()]


def test_a_replay_on_the_page_gives_the_numbers_of_the_command(platform: Platform, visitor: Visitor) -> None:
    page = visitor.go("/lab")
    expect(page.get_by_text("Nothing was run here yet.")).to_be_visible()
    choose(page, "Trace", "demo-10")
    page.get_by_label("Name of the cluster").fill("n1g8")
    only(page, "elasticflow", "fifo")
    page.get_by_role("button", name="Start").click()

    expect(page).to_have_url(re.compile(r"/lab/\d{8}-"), timeout=PATIENCE)
    expect(page.get_by_text("done in")).to_be_visible(timeout=PATIENCE)
    told = platform.cli(
        *("replay", "demo-10", "--cluster", "n1g8", "--policy", "elasticflow,fifo", "--json", "--quiet")
    )
    for numbers in json.loads(told):
        shown = row_of(page, numbers["policy"])
        counts = [str(numbers[name]) for name in ("deadline_jobs", "admitted", "declined", "met", "missed")]
        assert shown[:6] == [*counts, f"{numbers['ratio']:.3f}"]
        assert shown[-2:] == [f"{numbers['mean_efficiency']:.3f}", f"{numbers['mean_allocated']:.1f}"]
    expect(page.locator("canvas")).to_have_count(4)
    with page.expect_download() as report:
        page.evaluate("""() => { const link = document.querySelector('a[href$="report.json"]');
                       link.download = 'report.json'; link.click(); }""")
    assert {row["policy"] for row in json.loads(report.value.path().read_text())} == {"elasticflow", "fifo"}

    visitor.go("/lab")
    page.get_by_role("link", name="demo-10 on n1g8").click()
    assert row_of(page, "fifo")


def test_a_file_with_a_mistake_is_refused_with_its_line_and_column(
    platform: Platform, visitor: Visitor, tmp_path: Path
) -> None:
    before = sorted((platform.home / "lab").glob("*"))
    header, first, *_ = Path(bundled()["demo-10"].path).read_text().splitlines()
    wrong = tmp_path / "내 추적.csv"
    wrong.write_text("\n".join((header, first, first.replace(first.split(",")[2], "soon"))) + "\n")
    page = visitor.go("/lab")
    choose(page, "Trace", "A CSV file of yours")
    page.locator("input[type=file]").set_input_files(wrong)
    expect(page.get_by_text("내 추적.csv,")).to_be_visible()

    page.get_by_role("button", name="Start").click()

    expect(page.get_by_role("alert")).to_contain_text(re.compile(r"내_추적.csv, line 3, column '\w+'"))
    assert sorted((platform.home / "lab").glob("*")) == before


def test_the_platforms_own_past_is_replayed_beside_what_really_was(
    client: PlainClient, visitor: Visitor
) -> None:
    for number in range(3):
        job = client.submit(
            a_job(
                f"short-{number}",
                ["sleep", "0.2"],
                total={"steps": 40},
                workers="1..4",
                curve={"1": 10.0, "2": 20.0, "4": 40.0},
                deadline="+10m",
            )
        )
        eventually(lambda: client.job(job["id"])["state"] == "succeeded", "the job has ended")  # noqa: B023
    page = visitor.go("/lab")
    choose(page, "Trace", "Our own last week")
    only(page, "themis")
    page.get_by_role("button", name="Start").click()

    expect(page.get_by_text("done in")).to_be_visible(timeout=PATIENCE)
    assert row_of(page, "as it was")[:4] == ["3", "3", "0", "3"]
    assert row_of(page, "themis")[0] == "3"


def test_a_figure_of_the_paper_is_drawn_with_its_numbers(visitor: Visitor) -> None:
    page = visitor.go("/lab")
    expect(page.get_by_role("button", name="Draw figure 8b")).to_be_disabled()
    page.get_by_role("button", name="Draw figure 6a").click()

    picture = page.get_by_role("img", name="The figure")
    expect(picture).to_be_visible(timeout=PATIENCE)
    assert picture.evaluate("image => image.decode().then(() => image.naturalWidth)") > 0
    assert row_of(page, "elasticflow")[-1].endswith("of 25")
    expect(page.get_by_role("link", name="figure-6a.csv")).to_be_visible()


def test_a_cancelled_run_leaves_no_process_and_can_go_on(platform: Platform, visitor: Visitor) -> None:
    page = visitor.go("/lab")
    choose(page, "Trace", "lab-200")
    page.get_by_label("Name of the cluster").fill("n4g8")
    only(page, "chronus")
    page.get_by_role("button", name="Start").click()
    expect(page.get_by_role("progressbar")).to_be_visible(timeout=PATIENCE)
    # It stands still, so that it cannot have ended before somebody cancels it.
    eventually(lambda: [one for one in errands(platform) if "run" in one.cmdline()], "it has a process")[
        0
    ].suspend()

    page.get_by_role("button", name="Cancel").click()

    expect(page.get_by_text("cancelled", exact=True)).to_be_visible()
    eventually(lambda: not errands(platform), "its process is gone")
    visitor.go("/lab")
    expect(page.get_by_role("button", name="Go on with lab-200 on n4g8")).to_be_visible()
    page.get_by_role("button", name="Remove lab-200 on n4g8").click()
    page.get_by_role("button", name="Remove", exact=True).click()
    expect(page.get_by_role("link", name="lab-200 on n4g8")).to_have_count(0)
