"""What if: buttons, a shared address, several changes together, and doing it after all."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

from playwright.sync_api import expect
from tests.dashboard.browser import PATIENCE, Visitor
from tests.e2e.jobs import a_toy

from tenuto.client.plain import PlainClient


def test_losing_a_node_breaks_a_promise_in_thought_only(
    visitor: Visitor, client: PlainClient, tmp_path: Path
) -> None:
    # Eight slots are just enough for it; four are not.
    wide = {"curve": {str(size): 100.0 * size for size in range(1, 9)}}
    toy = a_toy("대학 실험", tmp_path, steps=1_000_000, workers="8", deadline="+30m")
    job = client.submit({**toy, **wide})["id"]
    assert client.job(job, wait="verdict")["promise"]["state"] == "holds"
    page = visitor.go("/whatif")
    answer = page.get_by_role("region", name="Answer")

    page.get_by_role("button", name="lose node-1").click()

    expect(answer).to_contain_text("1 promise broken", timeout=PATIENCE)
    expect(answer).to_contain_text("8 → 4")
    expect(answer).to_contain_text("nothing was changed")
    expect(answer.get_by_role("link", name="대학 실험")).to_have_attribute("href", f"/jobs/{job}")
    expect(page).to_have_url(visitor.url("/whatif?lose=node-1"))
    assert client.job(job)["promise"]["state"] == "holds"

    page.get_by_role("button", name="Clear").click()
    expect(answer).to_contain_text("Say what is to be different")
    page.get_by_label("Settings").fill("margin=often")
    page.get_by_role("button", name="What would happen?").click()
    expect(page.get_by_role("alert").filter(has_text="margin")).to_be_visible(timeout=PATIENCE)


def test_a_shared_address_asks_for_several_changes_and_one_is_done(
    visitor: Visitor, client: PlainClient, tmp_path: Path
) -> None:
    job = client.submit(a_toy("trénink", tmp_path, steps=1_000_000, deadline="+6h"))["id"]
    client.job(job, wait="verdict")
    question = "name: nowy\nrun: [sleep, '1']\ntotal: {steps: 100}\ncurve: {1: 1.0}\ndeadline: +1h\n"

    page = visitor.go("/whatif?" + "&".join([f"deadline={job}=none", "slots=4", f"job={quote(question)}"]))

    answer = page.get_by_role("region", name="Answer")
    expect(answer).to_contain_text("1 more node joins, with 4 slots", timeout=PATIENCE)
    expect(answer).to_contain_text("nowy is submitted")
    expect(answer.get_by_text("The answer to nowy")).to_be_visible()
    expect(answer).to_contain_text("Yes, with a promise")

    answer.get_by_role("button", name=f"Change the deadline of {job}").click()
    page.get_by_role("dialog").get_by_role("button", name="Change the deadline").click()
    expect(page.get_by_text("Done.")).to_be_visible(timeout=PATIENCE)
    assert client.job(job)["deadline"] is None
    expect(answer).to_contain_text("Things have changed since then", timeout=PATIENCE)
