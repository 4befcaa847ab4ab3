"""Jobs are submitted by the form, seen in the table as they go on, found, sorted and cancelled there."""

from __future__ import annotations

import re
from pathlib import Path

from playwright.sync_api import Locator, Page, expect
from tests.dashboard.browser import PATIENCE, Visitor
from tests.e2e.jobs import FOREVER, a_job

from tenuto.client.plain import PlainClient

TWO_DAYS = "steps: 1700000"
"""Of work, at ten steps a second."""


def row(page: Page, name: str) -> Locator:
    """The line of a job."""
    return page.get_by_role("row").filter(has=page.get_by_role("link", name=name, exact=True))


def answer(page: Page) -> Locator:
    return page.get_by_role("region", name="Answer")


def trouble(page: Page) -> Locator:
    """What is wrong with the job as a whole; fields of the form may complain, too, and stand before it."""
    return page.get_by_role("alert").last


def write(page: Page, text: str) -> None:
    """Replace what stands in the file's view."""
    page.locator(".cm-content").click()
    page.keyboard.press("Control+a")
    page.keyboard.press("Delete")
    page.keyboard.insert_text(text)


def test_a_first_job_is_submitted_by_the_form_and_seen_as_it_goes_on(
    visitor: Visitor, client: PlainClient, tmp_path: Path
) -> None:
    page = visitor.go("/jobs")
    expect(page.get_by_text("No job yet.")).to_be_visible()
    page.get_by_role("link", name="Submit the first one").click()

    page.get_by_label("Name").fill("학습")
    page.get_by_label("Command").fill(f"until [ -e {tmp_path}/end ]; do sleep 0.1; done")
    page.get_by_label("Fewest workers").fill("1")
    page.get_by_label("Most workers").fill("2")
    page.get_by_label("Labels").fill("note=<b>bold</b>\n팀=비전")
    expect(page.locator(".cm-content")).to_contain_text("workers: 1..2")
    expect(page.locator(".cm-content")).to_contain_text("팀: 비전")
    page.get_by_role("button", name="Submit", exact=True).click()
    expect(answer(page)).to_contain_text("It waits its turn, without a promise", timeout=PATIENCE)
    expect(answer(page).get_by_role("link", name="학습")).to_be_visible()

    page = visitor.go("/jobs")
    expect(row(page, "학습")).to_contain_text("running", timeout=PATIENCE)
    expect(row(page, "학습")).to_contain_text("note=<b>bold</b>")
    (tmp_path / "end").touch()
    expect(row(page, "학습")).to_contain_text("succeeded", timeout=PATIENCE)
    [job] = client.jobs()["items"]
    assert job["labels"] == {"note": "<b>bold</b>", "팀": "비전"}


def test_a_no_comes_with_an_offer_and_taking_it_is_a_button(visitor: Visitor, client: PlainClient) -> None:
    page = visitor.go("/submit")
    write(
        page,
        f"# za długo\nname: ćwiczenie\nrun: sleep 100000\ntotal: {{{TWO_DAYS}}}\ncurve: {{1: 10}}\n"
        "deadline: +1h\ngrace: 5\n",
    )
    expect(page.get_by_label("Name")).to_have_value("ćwiczenie")
    expect(page.get_by_label("Deadline")).to_have_value("+1h")
    page.get_by_role("button", name="Ask").click()
    expect(answer(page)).to_contain_text("If it were submitted now", timeout=PATIENCE)
    expect(answer(page).get_by_role("button", name=re.compile(r"Accept .*\d\d:\d\d"))).to_be_visible()
    assert client.jobs(text="ćwiczenie")["items"] == []

    page.get_by_role("button", name="Submit", exact=True).click()
    expect(answer(page)).to_contain_text("Answer to ćwiczenie", timeout=PATIENCE)
    expect(answer(page)).to_contain_text("No")
    answer(page).get_by_role("button", name=re.compile(r"Accept .*\d\d:\d\d")).click()

    expect(answer(page)).to_contain_text("Yes, with a promise", timeout=PATIENCE)
    expect(page.locator(".cm-content")).to_contain_text("# za długo")
    expect(page.get_by_label("Deadline")).to_have_value(re.compile(r"^\d{4}-\d\d-\d\dT\d\d:\d\dZ$"))
    granted, declined = client.jobs(text="ćwiczenie")["items"]
    assert (declined["state"], granted["resubmitted_from"]) == ("declined", declined["id"])
    answer(page).get_by_role("link", name="ćwiczenie").click()
    expect(page).to_have_url(re.compile(f"/jobs/{granted['id']}$"))


def test_what_is_wrong_is_named_with_its_place_and_nothing_is_submitted(
    visitor: Visitor, client: PlainClient
) -> None:
    before = len(client.jobs()["items"])
    page = visitor.go("/submit")
    page.get_by_role("button", name="Submit", exact=True).click()
    expect(trouble(page)).to_contain_text("name: is missing. Add it")

    write(page, "name: 训练\nrun: python train.py\nwrokers: 2\n")
    expect(trouble(page)).to_contain_text("line 3, column 1")
    expect(trouble(page)).to_contain_text("Did you mean workers?")
    write(page, "name: 训练\nrun: 'python\n")
    expect(trouble(page)).to_contain_text("this is not YAML")
    write(page, "name: <b>x</b>\nrun: python train.py\n")
    expect(trouble(page)).to_contain_text("'<b>x</b>' is no name")
    write(page, "name: 训练\nrun: python train.py\nmax_duration: 2d\n")
    page.get_by_label("Fewest workers").fill("4")
    page.get_by_label("Most workers").fill("1")
    expect(trouble(page)).to_contain_text("line 4, column 10: workers: 4..1 ends before it begins")
    page.get_by_role("button", name="Submit", exact=True).click()
    page.get_by_label("Most workers").fill("4")
    expect(trouble(page)).to_be_empty()

    assert len(client.jobs()["items"]) == before


def test_the_keyboard_alone_gets_through_the_form_and_out_of_its_editor(visitor: Visitor) -> None:
    page = visitor.go("/submit")
    editor = page.locator(".cm-content")
    editor.click()
    page.keyboard.type("name: by-keys")
    page.keyboard.press("Tab")

    expect(page.get_by_role("button", name="Ask")).to_be_focused()
    expect(editor).to_have_text("name: by-keys")
    page.keyboard.press("Shift+Tab")
    expect(editor).to_be_focused()


def test_a_job_is_submitted_again_with_an_edit(visitor: Visitor, client: PlainClient) -> None:
    first = client.submit(a_job("pierwszy", FOREVER, workers=1, params={"lr": 0.1}))
    page = visitor.go(f"/submit?from={first['id']}")
    expect(page.get_by_label("Command")).to_have_value("sleep 100000")
    expect(page.locator(".cm-content")).to_contain_text("lr: 0.1")
    page.get_by_label("Name").fill("drugi")
    page.get_by_role("button", name="Submit", exact=True).click()

    expect(answer(page)).to_contain_text("Answer to drugi", timeout=PATIENCE)
    [again] = client.jobs(name="drugi")["items"]
    assert (again["resubmitted_from"], again["spec"]["params"]) == (first["id"], {"lr": 0.1})
    visitor.go("/submit?from=nobody")
    expect(page.get_by_text("there is no job 'nobody'")).to_be_visible()


def test_jobs_are_found_sorted_paged_and_cancelled_together(visitor: Visitor, client: PlainClient) -> None:
    parent = client.submit(a_job("rodzic", FOREVER))
    for number in range(30):
        client.submit(
            a_job(f"k {number:02d}", ["true"], after=parent["id"], labels={"even": str(number % 2)})
        )
    page = visitor.go("/jobs?text=k&state=held")
    expect(page.get_by_role("status")).to_have_text("30 jobs", timeout=PATIENCE)
    expect(page.get_by_role("row").nth(1)).to_contain_text("k 29")

    page.get_by_role("columnheader", name="Name").click()
    expect(page.get_by_role("row").nth(1)).to_contain_text("k 00")
    page.get_by_role("button", name="Next page").click()
    expect(page.get_by_role("row").nth(1)).to_contain_text("k 25")
    expect(page).to_have_url(re.compile(r"state=held&text=k&order=name&page=2$"))
    page.reload()
    expect(page.get_by_role("row").nth(1)).to_contain_text("k 25")

    page.get_by_label("Label").fill("even=1")
    expect(page.get_by_role("status")).to_have_text("15 jobs")
    page.locator("body").press("/")
    page.keyboard.type(" 9")
    expect(page.get_by_text("Nothing matches.")).to_be_visible()
    page.get_by_role("button", name="Clear the filters").click()
    expect(page.get_by_role("status")).not_to_have_text("15 jobs")

    page = visitor.go("/jobs?text=k&order=name")
    for name in ("k 00", "k 01"):
        row(page, name).get_by_role("checkbox").click()
    client.act(client.jobs(name="k 02")["items"][0]["id"], "cancel")
    expect(row(page, "k 02")).to_contain_text("cancelled", timeout=PATIENCE)
    expect(page.get_by_text("2 selected")).to_be_visible()
    page.get_by_label("Name or id").fill("학습")
    row(page, "학습").get_by_role("checkbox").click()
    page.get_by_role("button", name="Cancel jobs").click()
    page.get_by_role("dialog").get_by_role("button", name="Cancel jobs").click()
    told = page.get_by_role("dialog")
    expect(told).to_contain_text("2 jobs are being cancelled; 1 was refused.")
    expect(told).to_contain_text("has ended (succeeded)")
    told.get_by_role("button", name="Close").click()
    page.get_by_label("Name or id").fill("k 0")
    for name in ("k 00", "k 01"):
        expect(row(page, name)).to_contain_text("cancelled", timeout=PATIENCE)
