"""Submissions on the straight way and on the usual one: nobody can tell which it was."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from tests.server.serving import Served, a_form

OF_THE_JOB_ITSELF = ("id", "number", "revision", "submitted_at")


def in_pieces(form: Any) -> Iterator[bytes]:
    """A body whose length nobody announces, which no straight way takes."""
    text = json.dumps(form, ensure_ascii=False).encode()
    yield text[:7]
    yield text[7:]


def answer(server: Served, **request: Any) -> tuple[int, dict[str, Any]]:
    told = server.http.post("/jobs", **request)
    assert told.headers["content-type"] == "application/json"
    assert told.headers["x-content-type-options"] == "nosniff"
    shown = told.json()
    return told.status_code, {name: shown[name] for name in shown if name not in OF_THE_JOB_ITSELF}


@pytest.mark.parametrize(
    "form",
    [
        a_form("학습", deadline="+2h", total=100, curve={"1": 2.0}),
        a_form("bez terminu"),
        a_form("mierzone", curve="auto", total=10, deadline="+1h"),
        a_form("zły", workers="4..2"),
        a_form("za późno", deadline="2001-01-01T00:00:00Z", total=1, curve={"1": 1}),
        [],
        "no job",
    ],
    ids=str,
)
def test_both_ways_answer_alike(server: Served, form: Any) -> None:
    straight = answer(server, json=form)
    usual = answer(server, content=in_pieces(form), headers={"Content-Type": "application/json"})

    assert straight == usual


def test_a_key_counts_whichever_way_a_submission_takes(server: Served) -> None:
    form, key = a_form("raz"), {"Idempotency-Key": "one-key"}
    first = server.http.post("/jobs", json=form, headers=key).json()
    headers = {**key, "Content-Type": "application/json"}

    again = server.http.post("/jobs", content=in_pieces(form), headers=headers).json()

    assert again["id"] == first["id"]


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[" * 100_000, b"\xff\xfe", b"NaN"], ids=lambda body: str(body[:5])
)
def test_what_is_no_json_is_refused_as_everywhere(server: Served, body: bytes) -> None:
    told = server.http.post("/jobs", content=body, headers={"Content-Type": "application/json"})

    assert told.status_code in (400, 422)
    assert told.json()["remedy"]
