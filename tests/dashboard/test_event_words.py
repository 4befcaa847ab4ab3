"""Events in plain words. No browser."""

from __future__ import annotations

import pytest

from tenuto.dashboard.event_lines import event_lines
from tenuto.dashboard.event_words import actor, places, reason, told
from tenuto.wire.replies import EventOut


def an_event(kind: str, before: str = "", after: str = "", **fields: str) -> EventOut:
    known = {"actor": "controller", "job": "k1", "node": "", "reason": ""} | fields
    return EventOut(
        id=1, kind=kind, at="2026-11-16T09:00:00.000Z", before=before, after=after, data={}, **known
    )


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (an_event("phase", "starting", "running"), "is running"),
        (an_event("verdict", "", "declined"), "was declined"),
        (an_event("promise", "none", "holds"), "has a promise"),
        (an_event("promise", "at_risk", "holds"), "is expected to keep its promise again"),
        (an_event("scaled", "", "node-0:4"), "got slots: 4 on node-0"),
        (an_event("scaled", "node-0:4", ""), "gave its slots back: 4 on node-0"),
        (an_event("rescale", "0", "4"), "began to train on 4 workers"),
        (an_event("rescale", "2", "1"), "went from 2 to 1 worker"),
        (an_event("pinned", "3", "auto"), "is sized by the policy again"),
        (an_event("policy", "edf", "elasticflow"), "the policy is elasticflow now"),
        (an_event("something", "a", "b"), "something: a → b"),
    ],
)
def test_what_happened_stands_behind_a_name(event: EventOut, words: str) -> None:
    assert told(event) == words


def test_places_are_said_as_people_say_them() -> None:
    assert places("node-0:4, node-1:1") == "4 on node-0, 1 on node-1"


def test_who_did_it_is_named_without_the_platforms_own_spelling() -> None:
    assert actor(an_event("rescale", actor="worker:k1.2.worker.3")) == "its worker 3"
    assert actor(an_event("scaled", actor="policy:edf")) == "the policy edf"
    assert actor(an_event("loss", actor="node:desk")) == "desk"
    assert actor(an_event("pinned", actor="민준")) == "민준"


def test_a_reason_does_not_say_the_verdict_again() -> None:
    assert reason(an_event("verdict", "", "declined", reason="declined: too late")) == "too late"
    assert reason(an_event("pinned", "auto", "2", actor="민준", reason="민준 asked for it")) == ""


def test_a_line_names_a_node_where_it_matters() -> None:
    lost = event_lines([an_event("worker", "running", "lost", node="desk")], {"k1": "train"})
    began = event_lines([an_event("rescale", "0", "2", node="desk")], {"k1": "train"})

    assert "lost a worker on " in lost and 'href="/nodes/desk"' in lost
    assert "/nodes/desk" not in began


def test_a_line_names_who_did_it_if_it_was_somebody() -> None:
    by_hand = event_lines([an_event("pinned", "auto", "3", actor="민준")], {"k1": "train"})
    by_itself = event_lines([an_event("phase", "starting", "running")], {"k1": "train"})

    assert "shall have 3 workers" in by_hand and "· 민준" in by_hand
    assert "controller" not in by_itself
