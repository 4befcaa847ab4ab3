"""The page of one job, in a real browser and on a real platform."""

from __future__ import annotations

import os
import re
import signal
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.dashboard.browser import PATIENCE, Visitor
from tests.e2e.jobs import FOREVER, TOY, a_job
from tests.e2e.platform import Json, Platform, eventually

from tenuto.client.plain import PlainClient
from tenuto.dashboard.job.course import window
from tenuto.wire.replies import JobOut

expect.set_options(timeout=PATIENCE)

TRAINING = """
    import time, torch, tenuto
    from torch.utils.data import TensorDataset

    run = tenuto.init()
    data = TensorDataset(torch.randn(512, 4), torch.randn(512, 1))
    model = torch.nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    model, optimizer, batches = run.elastic(model, optimizer, data, global_batch=32, steps=100_000)
    for x, y in batches:
        optimizer.zero_grad()
        loss = ((model(x) - y) ** 2).mean()
        loss.backward()
        optimizer.step()
        run.report(loss=float(loss))
        time.sleep(0.05)
"""
WATCH_STEPS = """() => {
    window.steps = [];
    const label = document.querySelector(".t-progress");
    new MutationObserver(() => window.steps.push(label.textContent)).observe(label,
        { childList: true, characterData: true, subtree: true });
}"""
CHART = "(element) => getElement(Number(element.id.slice(1))).options"


def a_training(directory: Path) -> Json:
    """A small model, trained by one to three workers that rescale in place."""
    script = directory / "学習.py"
    script.write_text(dedent(TRAINING), encoding="utf-8")
    quiet = {
        "OMP_NUM_THREADS": "1",
        "GLOO_SOCKET_IFNAME": "lo",
        "TORCHINDUCTOR_CACHE_DIR": str(directory / "torch"),
    }
    return a_job(
        "학습 uczenie żółć",
        [sys.executable, str(script)],
        strategy="allreduce",
        workers="1..3",
        total={"steps": 100_000},
        env=quiet,
        checkpoint={"dir": str(directory / "checkpoints")},
    )


def steps_seen(page: Page) -> list[int]:
    """Every step that the page has shown since it was watched."""
    texts: list[str] = page.evaluate("() => window.steps")
    return [int(text.split(" ")[0].replace(",", "")) for text in texts if " of " in text]


def state_of(page: Page) -> Locator:
    return page.get_by_role("status", name="State")


def training_workers(page: Page) -> Locator:
    """The rows of workers that train."""
    return page.get_by_label("Who trains").locator("tbody tr").filter(has_text="training")


def press(page: Page, button: str) -> None:
    page.get_by_role("button", name=button, exact=True).click()


def line(options: Json, name: str) -> dict[float, float]:
    """The points of a line of a chart, by their moments in seconds."""
    [found] = [series for series in options["series"] if series["name"] == name]
    return {at / 1000: value for at, value in found["data"] if value is not None}


def test_a_press_is_a_worker_more_or_fewer_and_training_goes_on_without_going_back(
    platform: Platform, client: PlainClient, visitor: Visitor, tmp_path: Path
) -> None:
    pytest.importorskip("torch")
    client.set_policy({"settings": {"interval": "1s"}})  # so that it need not wait for its turn to grow
    job = client.submit(a_training(tmp_path))["id"]
    client.scale(job, {"workers": 1})
    page = visitor.go(f"/jobs/{job}")
    expect(page.get_by_role("heading", level=1)).to_have_text("학습 uczenie żółć")
    expect(training_workers(page)).to_have_count(1)
    expect(page.locator(".t-progress")).to_contain_text("of 100,000 steps")
    page.evaluate(WATCH_STEPS)

    press(page, "+1 worker")
    expect(page.get_by_text("One worker more: asked for.")).to_be_visible()
    expect(training_workers(page)).to_have_count(2)
    node = next(iter(platform.job(job)["slots"]))
    press(page, f"\N{MINUS SIGN}1 on {node}")
    expect(training_workers(page)).to_have_count(1)
    expect(page.get_by_text(f"Pinned to 1: 1 on {node}.")).to_be_visible()
    press(page, "Let the policy decide")
    expect(training_workers(page)).to_have_count(3)
    expect(page.get_by_text("The policy decides.")).to_be_visible()

    lost = platform.job(job)["members"][1]["worker"]
    os.kill(platform.workers()[lost].pid, signal.SIGKILL)
    page.get_by_role("tab", name="Events").click()
    expect(page.get_by_role("row").filter(has_text="was killed by signal 9").first).to_be_visible()
    expect(page.get_by_role("row").filter(has_text="first step").first).to_be_visible()
    expect(page.get_by_role("row").filter(has_text="exit code 137").first).to_be_visible()
    page.get_by_role("tab", name="Overview").click()
    expect(training_workers(page)).to_have_count(3)
    before = max(steps_seen(page))
    page.wait_for_function(
        "(before) => window.steps.some((text) => parseInt(text.replace(',', '')) > before)", arg=before
    )
    seen = steps_seen(page)
    assert seen == sorted(seen), "the counter never went back"

    press(page, "Cancel")
    press(page, "No")
    assert platform.job(job)["wish"] != "cancel"
    press(page, "Cancel")
    press(page, "Cancel the job")
    expect(state_of(page)).to_have_text("cancelled")
    expect(page.get_by_role("button", name="+1 worker")).to_be_hidden()
    agree_with_the_api(visitor, client, job)


def agree_with_the_api(visitor: Visitor, client: PlainClient, job: str) -> None:
    """What the charts of a job that has ended show is what the API tells."""
    seen = window(JobOut.model_validate(client.job(job)), None, 0.0)
    page = visitor.go(f"/jobs/{job}?tab=metrics")
    chart = page.locator(".nicegui-echart").first
    expect(chart.locator("canvas")).to_be_visible()

    def told() -> tuple[Json, Any]:
        items = client.numbers(
            "job", name=job, part=["", "values"], since=f"{seen.since:.3f}", until=f"{seen.until:.3f}",
            step=f"{seen.step:g}", points=400,
        )["items"]  # fmt: skip
        whole, values = items
        loss = dict(zip(values["at"], values["values"]["loss"], strict=True))
        return whole, {at: float(f"{value:.5g}") for at, value in loss.items() if value is not None}

    def agrees() -> bool:
        page.reload()  # the last numbers of a worker come some seconds after its end
        expect(chart.locator("canvas")).to_be_visible()
        return bool(line(chart.evaluate(CHART), "loss") == told()[1])

    eventually(agrees, "the page shows the loss that the API tells")
    options = chart.evaluate(CHART)
    assert (
        3.0 in line(options, "workers").values()
    )  # two were there too briefly for a point of their own, perhaps
    marks = " | ".join(mark["name"] for mark in options["series"][0]["data"])
    for happened in (
        "shall have 2 workers",
        "went from 1 on node-",
        "to 2 workers",
        "lost a worker",
        "is running",
    ):
        assert happened in marks
    assert line(options, "samples/s") or line(options, "job samples/s")
    assert page.get_by_text("Seconds of a step, by worker").is_visible()


def test_logs_follow_and_a_progress_bar_is_one_line(
    platform: Platform, client: PlainClient, visitor: Visitor, tmp_path: Path
) -> None:
    run = [sys.executable, "-S", str(TOY), "--steps", "100000", "--step-seconds", "0.01", "--bar"]
    job = client.submit(
        a_job("bar", run, workers="2", checkpoint={"dir": str(tmp_path)}, total={"steps": 100_000})
    )["id"]
    page = visitor.go("/jobs/bar?tab=logs")
    log = page.get_by_role("log")

    bars = log.locator(".t-unfinished")
    expect(bars).to_have_text(re.compile(r"^1\.0 \[[#.]{20}\] \d+/100000\n1\.1 \[[#.]{20}\] \d+/100000$"))
    first = bars.inner_text()
    expect(bars).not_to_have_text(first)
    expect(log).to_contain_text("2 workers go on from step")

    page.get_by_label("Search in the log").fill("GO ON")
    expect(log.locator("mark")).to_have_count(2)
    page.get_by_label("Search in the log").fill("no such text")
    expect(log.locator("mark")).to_have_count(0)
    page.get_by_label("Search in the log").fill("")
    page.get_by_label("Worker", exact=True).click()
    page.get_by_role("option", name=re.compile(r"^1\.1 on node")).click()
    expect(bars).to_have_text(re.compile(r"^\[[#.]{20}\] \d+/100000$"))
    with page.expect_download() as loading:
        page.get_by_label("Download the log").click()
    assert loading.value.suggested_filename == f"{job}.1.worker.1.log"
    assert loading.value.path().read_text().startswith("2 workers go on from step")

    client.act(job, "cancel")
    expect(state_of(page)).to_have_text("cancelled")
    expect(log).to_contain_text("told to stop; saved step")
    expect(log).to_contain_text("Program exit with code 143")
    press(page, "Delete")
    press(page, "Delete the job")
    expect(page).to_have_url(re.compile("/jobs$"))
    visitor.forgiving = True  # a browser complains about a page that is not there
    assert page.goto(visitor.url(f"/jobs/{job}")).status == 404  # type: ignore[union-attr]
    expect(page.get_by_role("link", name="See all jobs")).to_be_visible()


def test_a_job_that_waits_is_explained_and_a_promise_breaks_only_by_force(
    platform: Platform, client: PlainClient, visitor: Visitor
) -> None:
    curve = {str(size): 12.5 * size for size in range(1, 9)}
    promised = client.submit(
        a_job("약속", FOREVER, workers="1..8", total={"steps": 100_000}, curve=curve, deadline="+20m")
    )["id"]
    platform.wait_for(promised, "running")
    waiting = client.submit(a_job("waits", FOREVER, workers="1..4"))["id"]
    page = visitor.go(f"/jobs/{waiting}?tab=explain")
    expect(page.get_by_text("In the way")).to_be_visible()
    expect(page.get_by_role("link", name="약속")).to_have_attribute("href", f"/jobs/{promised}")
    page.get_by_role("tab", name="Overview").click()
    expect(page).to_have_url(re.compile(r"tab=overview$"))
    expect(page.get_by_role("button", name="+1 worker")).to_be_disabled()

    page = visitor.go(f"/jobs/{promised}")
    expect(page.get_by_text("holds")).to_be_visible()
    slider = page.get_by_role("slider", name="Number of workers")
    slider.locator("[tabindex]").press("PageDown")
    expect(page.get_by_text("This would break a promise")).to_be_visible()
    expect(page.get_by_role("listitem").filter(has_text="약속")).to_be_visible()
    press(page, "No")
    expect(slider).to_have_attribute("aria-valuenow", "8")
    assert platform.job(promised)["pin"] is None

    slider.locator("[tabindex]").press("PageDown")
    press(page, "Do it all the same")
    expect(page.get_by_text("Pinned to 1.")).to_be_visible()
    expect(page.get_by_text("at risk", exact=True)).to_be_visible()
    expect(page.get_by_text("forced by root")).to_be_visible()


def test_what_cannot_be_is_told_with_its_reason_and_changes_nothing(
    platform: Platform, client: PlainClient, visitor: Visitor
) -> None:
    job = client.submit(a_job("large", FOREVER, workers="2..20", labels={"team": "시각"}))["id"]
    client.scale(job, {"workers": 8})
    platform.wait_for(job, "running")
    page = visitor.go(f"/jobs/{job}")
    expect(page.get_by_text("8 workers now, 2 to 20 possible")).to_be_visible()
    expect(page.get_by_text("team=시각")).to_be_visible()

    press(page, "+1 worker")
    expect(page.get_by_text("8 slots can be used, 9 asked for. Ask for less, or add nodes")).to_be_visible()
    assert platform.job(job)["pin"]["workers"] == 8

    client.scale(job, {"workers": 2})
    expect(page.get_by_text("2 workers now, 2 to 20 possible")).to_be_visible()
    expect(page.get_by_role("button", name="\N{MINUS SIGN}1 worker")).to_be_disabled()
    expect(page.get_by_title("It needs 2 at least.").first).to_be_visible()

    press(page, "Pause")
    expect(state_of(page)).to_have_text("paused")
    press(page, "Resume")
    expect(state_of(page)).to_have_text("running")
    page.get_by_role("tab", name="Config").click()
    expect(page.get_by_text("workers: 2..20")).to_be_visible()
    press(page, "Resubmit")
    expect(page).not_to_have_url(re.compile(job))
    expect(page.get_by_role("heading", level=1)).to_have_text("large")
