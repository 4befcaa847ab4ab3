"""Rows, addresses and CSV of the scaling log."""

from __future__ import annotations

import csv
from io import StringIO
from urllib.parse import parse_qsl, urlsplit

import pytest

from tenuto.dashboard.scaling_table import LogView, as_csv, row_of, view_in
from tenuto.wire.scaling import ScalingOut


def a_change(**told: object) -> ScalingOut:
    plain: dict[str, object] = {
        "id": 7, "at": "2026-11-16T09:30:00.000Z", "job": "k4m2x9w7pq", "name": "학습", "change": "grow",
        "by": "policy", "who": "policy:elasticflow", "before": "node-0:1", "after": "node-0:1,node-1:2",
        "workers_before": 1,
        "workers_after": 3, "reason": "chosen by the policy",
    }  # fmt: skip
    return ScalingOut.model_validate({**plain, **told})


def test_a_row_tells_from_how_many_to_how_many_and_where() -> None:
    row = row_of(a_change())

    assert (row["change"], row["sizes"], row["where"]) == ("grew", "1 → 3", "node-0:1 → node-0:1,node-1:2")
    assert (row["href"], row["by"]) == ("/jobs/k4m2x9w7pq", "the policy")


def test_a_wish_tells_what_was_wished() -> None:
    wish = a_change(
        change="pin", before="auto", after="3", workers_before=None, workers_after=None, by="user"
    )

    assert (row_of(wish)["sizes"], row_of(wish)["where"]) == ("auto → 3", "")


def test_a_deleted_job_has_no_link() -> None:
    row = row_of(a_change(name=""))

    assert (row["name"], row["href"]) == ("k4m2x9w7pq", "")


@pytest.mark.parametrize(
    "view", [LogView(), LogView(job="대학 실험"), LogView(by="failure", text="a & b=c"), LogView(text="?#")]
)
def test_an_address_brings_back_the_view(view: LogView) -> None:
    assert view_in(dict(parse_qsl(urlsplit(view.address()).query))) == view


def test_what_an_address_cannot_mean_is_passed_over() -> None:
    assert view_in({"by": "the moon", "colour": "red"}) == LogView()


def test_csv_has_a_line_for_each_change_and_no_formula() -> None:
    written = as_csv([a_change(), a_change(reason='=cmd|" /C calc"!A0', name="trénink, 2")])

    head, first, second = csv.reader(StringIO(written))
    assert head[:3] == ["at", "job", "name"] and first[2] == "학습"
    assert second[2] == "trénink, 2" and second[-1].startswith("'=cmd")
