"""A job as text and as the fields of a form: one key is changed and all else stays; what is wrong names its place."""

from __future__ import annotations

from typing import Any

import pytest

from tenuto.dashboard.job_fields import KEYS, fields_in, value_for
from tenuto.dashboard.job_text import blamed, edit_between, with_key, without_zone, written_in
from tenuto.errors import InputInvalid

TEXT = """\
# nasz najlepszy
name: ćwiczenie
run: |
  python prepare.py
  python train.py
params: {lr: 0.1}   # unknown to the form

# until when
deadline: +6h
"""


def keyed(text: str, field: str, **fields: Any) -> str:
    """The text after somebody has changed fields of the form."""
    values = written_in(text).values
    return with_key(text, KEYS[field], value_for(KEYS[field], {**fields_in(values), **fields}, values))


def test_one_key_is_changed_and_every_other_line_stays() -> None:
    assert keyed(TEXT, "deadline", deadline="2030-11-20T18:00") == TEXT.replace("+6h", "2030-11-20T18:00")
    assert keyed(TEXT, "run", run="true") == TEXT.replace(
        "run: |\n  python prepare.py\n  python train.py\n", 'run: "true"\n'
    )
    assert keyed(TEXT, "least", least=1, most=4) == TEXT + "workers: 1..4\n"
    assert keyed(TEXT, "deadline", deadline="") == TEXT.replace("deadline: +6h\n", "")


def test_a_job_can_be_written_from_nothing() -> None:
    text = ""
    for field, values in (
        ("name", {"name": "학습 1"}),
        ("run", {"run": "a: b # c"}),
        ("amount", {"amount": 1000.0, "unit": "epochs"}),
        ("curve", {"curve": "1: 3.2, 2: 6"}),
        ("labels", {"labels": "team = vision\n팀=비전"}),
        ("priority", {"priority": "urgent"}),
    ):
        text = keyed(text, field, **values)

    assert text == (
        'name: 학습 1\nrun: "a: b # c"\ntotal: {epochs: 1000}\ncurve: {1: 3.2, 2: 6}\n'
        "labels: {team: vision, 팀: 비전}\npriority: urgent\n"
    )
    assert written_in(text).checked().values["curve"] == {1: 3.2, 2: 6}


@pytest.mark.parametrize(
    "value", ["no", "1e3", "1:30", "- a", "it's", 'say "a"', "a\nb\n", "a\n\n b", "#x", "~"]
)
def test_every_text_is_read_back_as_it_was(value: str) -> None:
    text = with_key("name: a\n", "setup", value)

    assert written_in(text).values == {"name": "a", "setup": value}


def test_what_is_written_in_brackets_is_written_anew() -> None:
    text = with_key('{"name": "a", "params": {"lr": 0.1}}', "run", "true")

    assert written_in(text).values == {"name": "a", "params": {"lr": 0.1}, "run": "true"}


def test_fields_show_every_way_to_write_a_key() -> None:
    shown = fields_in(
        {
            "run": ["python", "a b.py"],
            "workers": {"min": 2, "max": 4},
            "total": 500,
            "curve": {1: 3.2},
            "urgent": True,
            "checkpoint": {"dir": "/ck", "every": 5},
            "after": "prepare",
            "env": {"A": "1"},
        }
    )

    assert shown["run"] == "python 'a b.py'"
    assert (shown["least"], shown["most"], shown["amount"], shown["unit"]) == (2, 4, 500, "steps")
    assert (shown["curve"], shown["priority"], shown["checkpoint"]) == ("1: 3.2", "urgent", "/ck")
    assert (shown["after"], shown["env"]) == ("prepare", "A=1")
    assert fields_in({"workers": "viele", "total": {"steps": "x"}})["least"] is None


def test_what_else_a_key_says_stays_when_its_field_is_changed() -> None:
    text = "name: a\ncheckpoint: {dir: /ck, every: 5}\n"

    assert keyed(text, "checkpoint", checkpoint="/other") == "name: a\ncheckpoint: {dir: /other, every: 5}\n"
    assert keyed(text, "checkpoint", checkpoint="") == "name: a\ncheckpoint: {every: 5}\n"


def test_a_line_without_a_value_is_named() -> None:
    with pytest.raises(
        InputInvalid, match=r"labels: 'team' is no name with a value. Write name=value"
    ) as caught:
        value_for("labels", fields_in({}) | {"labels": "team"}, {})

    assert caught.value.field == "labels"


def test_a_complaint_names_line_and_column_and_what_to_write() -> None:
    with pytest.raises(
        InputInvalid, match=r"the job, line 3, column 1: wrokers: there is no such key. Did you mean workers"
    ):
        written_in("name: a\nrun: b\nwrokers: 2\n").checked()
    with pytest.raises(
        InputInvalid, match=r"the job, line 2, column 10: workers: 4..1 ends before it begins. Write 1..4"
    ):
        written_in("run: b\nworkers: 4..1\nname: a\n").checked()
    with pytest.raises(InputInvalid, match=r"the job, line 3.*several jobs stand here"):
        written_in("name: a\n---\nname: b\n")
    job = written_in("name: a\ndeadline: 1999-01-01T00:00Z\n")
    told = InputInvalid("jobs.0.deadline: it is in the past", remedy="Wait", field="jobs.0.deadline")
    assert str(blamed(job, told)) == "the job, line 2, column 11: deadline: it is in the past. Wait"


def test_a_deadline_without_a_zone_is_the_visitors() -> None:
    assert without_zone(" 2030-11-20 18:00") == "2030-11-20T18:00:00"
    assert without_zone("2030-11-20") == "2030-11-20T00:00:00"
    assert [without_zone(text) for text in ("+6h", "2030-11-20T18:00Z", None, 5)] == [None] * 4


def test_an_edit_is_what_differs() -> None:
    old = {"name": "a", "curve": {"1": 3.2}, "total": {"steps": 10.0}, "deadline": "+1h"}

    assert (
        edit_between(old, {"name": "a", "curve": {1: 3.2}, "total": {"steps": 10}, "deadline": "+1h"}) == {}
    )
    assert edit_between(old, {"name": "b", "curve": {1: 3.2}, "total": {"steps": 10}, "node": "n"}) == {
        "name": "b",
        "node": "n",
        "deadline": None,
    }


def test_a_text_that_would_keep_others_waiting_is_refused() -> None:
    for read in (written_in, lambda text: with_key(text, "name", "b")):
        with pytest.raises(InputInvalid, match=r"characters, of which a page takes 50,000.*tenuto submit"):
            read("name: a\n" + "# a comment\n" * 10_000)
    assert value_for("curve", {"curve": "[" * 10_000}, {}) == "[" * 10_000
