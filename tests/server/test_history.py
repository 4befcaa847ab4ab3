"""The past over the API: pages, bounds, what is told of each job, and the cluster of a time."""

from __future__ import annotations

from typing import Any

import pytest
from tests.server.serving import NOW, Served

from tenuto.model.event import Event
from tenuto.model.phase import Phase

DAY = 86_400.0


def submitted(server: Served, at: float, name: str = "trénink") -> str:
    """A job with everything that a trace needs, submitted at a moment."""
    server.clock.now = at
    shown = server.submit(
        name, workers="1..4", total={"steps": 100}, curve={"1": 1.0, "2": 1.9, "4": 3.5}, deadline="+1h"
    )
    server.clock.now = NOW
    id_: str = shown["id"]
    return id_


def happens(server: Served, kind: str, **told: Any) -> None:
    event = Event(kind=kind, at=told.pop("at", NOW), actor="controller", **told)
    server.store.write(lambda tx: tx.add_event(event))


def test_a_job_is_told_with_exact_numbers(server: Served) -> None:
    job = submitted(server, NOW - 1000.125, "백만 걸음")

    [told] = server.get("/history")["items"]

    assert (told["id"], told["name"], told["owner"], told["state"]) == (job, "백만 걸음", "민준", "submitted")
    assert told["trace"] == {
        "arrived": NOW - 1000.125,
        "steps": 100.0,
        "deadline": NOW - 1000.125 + 3600.0,
        "batch": 1,
        "workers": 4,
        "curve": {"1": 1.0, "2": 1.9, "4": 3.5},
    }
    assert (told["guesses"], told["left_out"]) == ([], "")


def test_what_cannot_be_told_says_why(server: Served) -> None:
    server.submit("bez křivky")

    [told] = server.get("/history")["items"]

    assert (told["trace"], told["left_out"]) == (None, "never_ran")


def test_what_was_guessed_is_named(server: Served) -> None:
    job = server.submit("příkaz", workers=2)["id"]
    happens(server, "scaled", job=job, data={"workers": 2})
    server.put(job, phase=Phase.SUCCEEDED, ended_at=NOW + 30.0, started_at=NOW)

    [told] = server.get("/history")["items"]

    assert (told["trace"]["steps"], told["trace"]["curve"]) == (60.0, {"2": 2.0})
    assert told["guesses"] == ["curve_from_run", "steps_from_run"]


class TestPages:
    def test_the_past_comes_newest_first_in_pages_that_join_without_a_gap(self, server: Served) -> None:
        ids = [submitted(server, NOW - day * DAY) for day in (9, 7, 5, 3, 1)]

        first = server.get("/history", limit=2)
        second = server.get("/history", limit=2, cursor=first["next"])
        third = server.get("/history", limit=2, cursor=second["next"])

        pages = [[job["id"] for job in page["items"]] for page in (first, second, third)]
        assert pages == [[ids[4], ids[3]], [ids[2], ids[1]], [ids[0]]]
        assert third["next"] is None

    @pytest.mark.parametrize(
        ("span", "days"),
        [
            ({"since": "6d"}, (5, 3, 1)),
            ({"since": "8d", "until": "2d"}, (7, 5, 3)),
            ({"since": "8d", "until": "7d"}, (7,)),
            ({"until": "20d"}, ()),
        ],
    )
    def test_only_what_was_submitted_in_a_time_is_told(
        self, server: Served, span: dict[str, str], days: tuple[int, ...]
    ) -> None:
        ids = {day: submitted(server, NOW - day * DAY - 1.0) for day in (9, 7, 5, 3, 1)}

        told = [job["id"] for job in server.get("/history", **span)["items"]]

        assert told == [ids[day] for day in sorted(days)]

    def test_a_page_ends_where_the_time_begins(self, server: Served) -> None:
        submitted(server, NOW - 9 * DAY)
        kept = [submitted(server, NOW - day * DAY) for day in (3, 1)]

        page = server.get("/history", since="6d", limit=2)

        assert [job["id"] for job in page["items"]] == kept[::-1]
        assert page["next"] is None


class TestBadQuestions:
    @pytest.mark.parametrize(
        ("query", "field"),
        [
            ("since=yesterday", "since"),
            ("since=2026-11-01", "since"),
            ("until=soon", "until"),
            ("since=1d&until=2d", "since"),
            ("cursor=nonsense", "cursor"),
            ("limit=501", "limit"),
            ("owner=me", "owner"),
        ],
    )
    def test_they_are_refused_by_name(self, server: Served, query: str, field: str) -> None:
        error = server.refused("GET", f"/history?{query}")

        assert (error["status"], error["field"]) == (422, field)


class TestTheCluster:
    def test_it_has_the_nodes_that_were_there_longest_and_the_rules_of_now(self, server: Served) -> None:
        server.join("uzel-1", 4, joined_at=NOW - 10 * DAY)
        server.join("uzel-2", 8, joined_at=NOW - DAY)

        told = server.get("/history/cluster", since="5d")

        assert (told["nodes"], told["share"], told["changes"]) == ({"uzel-1": 4}, pytest.approx(0.8), 1)
        assert (told["policy"], told["interval"], told["margin"]) == ("elasticflow", 60.0, 0.1)

    def test_of_a_platform_younger_than_the_time_only_its_life_counts(self, server: Served) -> None:
        server.join("uzel-1", 4, joined_at=NOW - DAY)

        told = server.get("/history/cluster", since="30d")

        assert (told["nodes"], told["share"], told["changes"]) == ({"uzel-1": 4}, 1.0, 0)

    def test_without_nodes_there_is_none(self, server: Served) -> None:
        assert server.get("/history/cluster")["nodes"] == {}
