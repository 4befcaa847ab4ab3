"""The scaling log over the API: who, from how many to how many, why; newest first, page by page."""

from __future__ import annotations

from typing import Any

import pytest
from tests.server.serving import NOW, Served

from tenuto.model.event import Event
from tenuto.server import scaling


def happens(server: Served, kind: str, job: str, actor: str, **told: Any) -> None:
    event = Event(kind=kind, at=told.pop("at", NOW), actor=actor, job=job, **told)
    server.store.write(lambda tx: tx.add_event(event))


def a_story(server: Served) -> str:
    """A job starts, is pinned, follows, loses a node, is stopped for others, paused, and ends."""
    job: str = server.submit("대학 실험")["id"]
    policy = "policy:elasticflow"
    happens(server, "scaled", job, policy, after="node-0:2", reason="chosen by the policy")
    happens(server, "pinned", job, "민준", before="auto", after="3", reason="민준 asked for it")
    happens(
        server, "scaled", job, "민준", before="node-0:2", after="node-0:2,node-1:1", reason="pinned by 민준"
    )
    lost = {"reason": "node node-1 is lost", "data": {"why": "workers_lost"}}
    happens(server, "scaled", job, "controller", before="node-0:2,node-1:1", after="node-0:2", **lost)
    happens(
        server, "phase", job, policy, at=NOW + 1, before="running", after="queued", reason="gave its slots"
    )
    happens(server, "scaled", job, policy, at=NOW + 1, before="node-0:2", reason="gave its slots to others")
    happens(server, "scaled", job, policy, at=NOW + 2, after="node-0:1", reason="chosen by the policy")
    paused = {"reason": "paused by 민준", "data": {"why": "paused"}}
    happens(server, "phase", job, "controller", at=NOW + 3, before="running", after="paused", **paused)
    happens(server, "phase", job, "controller", at=NOW + 4, before="running", after="succeeded")
    return job


def told(server: Served, **query: Any) -> list[tuple[Any, ...]]:
    rows = server.get("/scaling", **query)["items"]
    return [(row["change"], row["by"], row["workers_before"], row["workers_after"]) for row in rows]


STORY = [
    ("stop", "user", 1, 0),
    ("start", "policy", 0, 1),
    ("stop", "policy", 2, 0),
    ("shrink", "failure", 3, 2),
    ("grow", "user", 2, 3),
    ("pin", "user", None, None),
    ("start", "policy", 0, 2),
]


def test_every_change_is_told_once_with_who_is_behind_it(server: Served) -> None:
    job = a_story(server)

    assert told(server) == STORY
    first = server.get("/scaling", limit=1)["items"][0]
    assert (first["job"], first["name"], first["reason"]) == (job, "대학 실험", "paused by 민준")
    assert (first["before"], first["after"], first["who"]) == ("node-0:1", "", "controller")


def test_pages_fit_together(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scaling, "AT_ONCE", 2)
    a_story(server)

    found: list[Any] = []
    cursor: str | None = ""
    while cursor is not None:
        page = server.get("/scaling", limit=2, cursor=cursor)
        assert len(page["items"]) <= 2
        found += page["items"]
        cursor = page["next"]

    assert [row["change"] for row in found] == [change for change, *_ in STORY]


def test_so_much_is_looked_at_for_a_page_and_no_more(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scaling, "AT_ONCE", 2)
    monkeypatch.setattr(scaling, "MOST", 2)
    a_story(server)

    first = server.get("/scaling", by="failure")
    assert first["items"] == [] and first["next"]

    found: list[Any] = []
    cursor = first["next"]
    while not found:
        page = server.get("/scaling", by="failure", cursor=cursor)
        found, cursor = page["items"], page["next"]
    assert found[0]["reason"] == "node node-1 is lost"


def test_filters(server: Served) -> None:
    job = a_story(server)
    other = server.submit("trénink")["id"]
    happens(server, "scaled", other, "policy:fifo", after="node-9:4", reason="chosen by the policy")

    assert told(server, job="trénink") == [("start", "policy", 0, 4)]
    assert told(server, job=job) == STORY
    assert told(server, by="failure") == [("shrink", "failure", 3, 2)]
    assert told(server, text="NODE-9") == [("start", "policy", 0, 4)]
    assert len(told(server, text="대학")) == len(STORY)
    assert told(server, text="pinned by") == [("grow", "user", 2, 3)]


def test_a_deleted_job_keeps_its_changes(server: Served) -> None:
    job = a_story(server)
    server.store.write(lambda tx: tx.remove_job(job))

    row = server.get("/scaling", job=job)["items"][0]

    assert (row["job"], row["name"]) == (job, "")


@pytest.mark.parametrize(
    ("query", "status"), [("by=somebody", 422), ("cursor=x", 422), ("limit=501", 422), ("job=nobody", 404)]
)
def test_what_is_not_known_is_refused(server: Served, query: str, status: int) -> None:
    assert server.refused("GET", f"/scaling?{query}")["status"] == status
