"""What-if questions as addresses and queries, and their answers as rows and sentences."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlsplit

import pytest

from tenuto.dashboard.thought import (
    MOST_DEADLINES,
    MOST_NAMED,
    MOST_SLOTS,
    NONE,
    Thought,
    moment_meant,
    slots_in,
    thought_in,
)
from tenuto.dashboard.whatif_text import ROUGHLY, facts, headline, moved, row_of
from tenuto.errors import InputInvalid
from tenuto.wire.quantities import rfc3339
from tenuto.wire.questions import DifferenceOut, FateOut, ForeseenOut, RefusalOut, SidesOut, WhatIfOut

NOW = 1_800_000_000.0
EVERYTHING = Thought(
    lose=("node-1", "узел 2"),
    slots=4,
    nodes="2x8",
    policy="themis",
    settings="interval=2m, margin=0.2",
    deadlines=(("대학 실험", "+2h"), ("k4m2x9w7pq", NONE), ("a=b", "2030-11-20T18:00+01:00")),
    cancel=("trénink",),
    job="name: a & b\nrun: [sleep, 1]",
)


# questions


@pytest.mark.parametrize("thought", [Thought(), EVERYTHING, Thought(lose=("n",)), Thought(slots=1)])
def test_an_address_brings_back_the_question(thought: Thought) -> None:
    assert thought_in(parse_qsl(urlsplit(thought.address()).query)) == thought


def test_everything_together_is_one_query() -> None:
    assert EVERYTHING.query({"name": "new"}) == {
        "lose": ["node-1", "узел 2"],
        "add_slots": 4,
        "add_nodes": [{"count": 2, "slots": 8}],
        "policy": {"name": "themis", "settings": {"interval": "2m", "margin": 0.2}},
        "deadlines": {"대학 실험": "+2h", "k4m2x9w7pq": None, "a=b": "2030-11-20T18:00+01:00"},
        "cancel": ["trénink"],
        "add": [{"name": "new"}],
    }
    assert Thought().query() == {} and not Thought()


@pytest.mark.parametrize(
    ("written", "number"), [("4", 4), (8.0, 8), ("many", 0), (None, 0), (-1, 0), (1e9, 0)]
)
def test_slots_that_nobody_can_mean_are_none(written: object, number: int) -> None:
    assert slots_in(written) == number <= MOST_SLOTS


@pytest.mark.parametrize("thought", [Thought(nodes="two"), Thought(settings="fast"), Thought(settings="=1")])
def test_what_cannot_be_read_says_what_would_be_right(thought: Thought) -> None:
    with pytest.raises(InputInvalid) as error:
        thought.query()
    assert "Write" in error.value.remedy


def test_a_later_deadline_counts_from_the_present_one_when_it_is_done() -> None:
    assert moment_meant("+2h", NOW) == rfc3339(NOW + 7200)
    assert moment_meant("2030-11-20T18:00Z", NOW) == "2030-11-20T18:00Z"
    assert moment_meant(NONE, NOW) is None
    assert moment_meant("+2h", None) == "+2h"
    with pytest.raises(InputInvalid):
        moment_meant("+soon", NOW)


# answers


def a_fate(promise: str = "none", finish: float | None = None) -> FateOut:
    eta = ForeseenOut(finish=None if finish is None else rfc3339(NOW + finish))
    return FateOut(promise=promise, promised=None, eta=eta)


def a_difference(effect: str, before: FateOut | None, after: FateOut | None) -> DifferenceOut:
    return DifferenceOut(
        id="id", name="<b>학습</b>", state="running", effect=effect, before=before, after=after
    )


def an_answer(counts: dict[str, int], **told: object) -> WhatIfOut:
    plain: dict[str, object] = {
        "as_of": rfc3339(NOW), "changes": ["<node-1> is lost"], "refused": [],
        "policy": SidesOut(before="a", after="a"), "slots": {"before": 8, "after": 4}, "added": [], "jobs": [],
        "more": 0, "counts": counts, "exact": True, "remarks": [],
    }  # fmt: skip
    return WhatIfOut.model_validate({**plain, **told})


def test_a_row_tells_before_and_after() -> None:
    row = row_of(a_difference("broken", a_fate("holds", 600), a_fate("at_risk", 4200)))

    assert (row["tone"], row["effect"], row["promise"]) == ("bad", "promise broken", "holds → late")
    assert row["moved"] == "+1h" and row["after"]["at"] == rfc3339(NOW + 4200)


def test_what_is_not_known_is_not_told() -> None:
    assert moved(a_fate(finish=5), a_fate()) == moved(None, a_fate(finish=5)) == ""
    assert moved(a_fate(finish=5), a_fate(finish=5.4)) == ""
    assert moved(a_fate(finish=90), a_fate(finish=30)) == "-1m"
    assert row_of(a_difference("cancelled", a_fate(), None))["after"] is None


def test_the_gravest_comes_first() -> None:
    assert headline(an_answer({"later": 3, "broken": 2, "none": 9})) == ("bad", "2 promises broken, 3 later")
    assert headline(an_answer({"earlier": 1})) == ("good", "1 earlier")
    assert headline(an_answer({"none": 9})) == ("good", "Nothing changes for any job")


def test_facts_are_html_without_anybody_elses_tags() -> None:
    refusal = RefusalOut(job="id", message="no <room>")

    told = facts(an_answer({"none": 1}, refused=[refusal], exact=False), 0.1234)

    assert told["If"] == "&lt;node-1&gt; is lost" and told["Would be refused"] == "no &lt;room&gt;"
    assert told["Slots"] == "8 → <b>4</b>" and told["Policy"] == "a" and told["Remarks"] == ROUGHLY
    assert told["Answered in"].startswith("0.12 s")


def test_an_address_cannot_ask_without_end() -> None:
    many = [(key, f"{key}-{number}=+1h") for key in ("lose", "cancel", "deadline") for number in range(5000)]
    thought = thought_in(many)
    assert (len(thought.lose), len(thought.cancel)) == (MOST_NAMED, MOST_NAMED)
    assert len(thought.deadlines) == MOST_DEADLINES
    with pytest.raises(InputInvalid, match="too many settings"):
        Thought(settings="a=[[[[," * 1000).query()
