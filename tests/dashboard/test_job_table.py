"""The table of jobs: its address, its rows, and what came of a wish for many."""

from __future__ import annotations

from typing import Any

from starlette.datastructures import QueryParams

from tenuto.dashboard.job_table import Outcome, TableView, labels_in, refusals, row_of, told_outcomes, view_in
from tenuto.wire.job_table import JobLine


def a_line(**fields: Any) -> JobLine:
    given = {
        "id": "k4m2x9w7pq", "number": 7, "name": "<b>학습</b>", "owner": "王芳", "state": "running", "message": "",
        "wish": "", "priority": "normal", "workers": 2, "min_workers": 1, "max_workers": 4, "done": 0.437,
        "eta": "2027-01-15T09:00:00.000Z", "deadline": None, "promised": None, "promise": "none",
        "submitted_at": "2027-01-15T08:00:00.000Z", "ended_at": None, "labels": {"팀": "비전"},
    }  # fmt: skip
    return JobLine(**{**given, **fields})


def test_an_address_and_a_view_say_the_same() -> None:
    view = TableView(
        states=("running", "queued"),
        owner="王芳",
        labels=("team=vision", "stage=prod"),
        text="a&b=c",
        order="name",
        descending=False,
        page=3,
        rows=50,
    )
    assert TableView().address() == "/jobs"
    assert TableView(states=("running", "queued")).address() == "/jobs?state=running,queued"
    assert view_in(QueryParams(view.address().partition("?")[2])) == view
    assert view.query() == {
        "state": "running,queued",
        "owner": "王芳",
        "label": ["team=vision", "stage=prod"],
        "text": "a&b=c",
        "order": "name",
        "skip": 100,
        "limit": 50,
    }


def test_what_an_address_says_wrongly_is_passed_over() -> None:
    wrong = {"state": "running,flying", "order": "-colour", "page": "x", "rows": "7", "label": " , "}

    assert view_in(wrong) == TableView(states=("running",))
    assert view_in({"page": "0"}).page == 1


def test_no_page_is_behind_the_last() -> None:
    assert TableView(page=9).within(26).page == 2
    assert TableView(page=9).within(0).page == 1


def test_a_row_has_what_its_cells_show() -> None:
    row = row_of(a_line())

    assert (row["name"], row["href"], row["labels"]) == ("<b>학습</b>", "/jobs/k4m2x9w7pq", ["팀=비전"])
    assert (row["state"], row["tone"], row["workers"], row["done"]) == ("running", "good", "2 of 1..4", 43)
    assert row_of(a_line(wish="cancel"))["state"] == "running, ending"
    assert row_of(a_line(state="cancelled", wish="cancel", workers=0))["state"] == "cancelled"
    assert row_of(a_line(state="queued", workers=0, max_workers=1, done=None))["workers"] == "1"
    late = row_of(a_line(promise="at_risk", promised="2027-01-15T09:00:00.000Z"))
    assert (late["promise"], late["promise_tone"]) == ("at risk", "warn")


def test_labels_are_typed_with_commas_between() -> None:
    assert labels_in(" team=a ,, x=y") == ("team=a", "x=y")


def test_what_came_of_a_wish_for_many_is_counted_and_refusals_are_named() -> None:
    mixed = [Outcome("a"), Outcome("b", "it has ended"), Outcome("c")]

    assert told_outcomes(mixed, "being cancelled") == "2 jobs are being cancelled; 1 was refused."
    assert told_outcomes(mixed[:1], "being cancelled") == "1 job is being cancelled."
    assert told_outcomes(mixed[1:2], "being cancelled") == "No job is being cancelled; 1 was refused."
    assert refusals(mixed) == ["b: it has ended"]
