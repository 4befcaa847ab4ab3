"""Policies that decide along, over the API: wished, refused, told of, and without any effect on what is decided."""

from __future__ import annotations

from threading import Event as Flag
from typing import Any

import pytest
from tests.forecast.records import a_contract
from tests.server.serving import NOW, USER_NAME, Served, promised

from tenuto.forecast.shadow import KEY
from tenuto.live.shadow import Pace, Shadows
from tenuto.model.event import Event
from tenuto.model.job import Reply
from tenuto.model.phase import Phase, PromiseState
from tenuto.settings import Scheduling


def wish(server: Served, *policies: str | dict[str, Any]) -> Any:
    rows = [{"name": one} if isinstance(one, str) else one for one in policies]
    return server.http.put("/policy/shadows", json={"policies": rows}).json()


def test_at_first_none_decides_along(server: Served) -> None:
    told = server.get("/policy/shadows")

    assert (told["shadows"], told["really"], told["in_force"], told["most"]) == ([], None, "elasticflow", 4)


def test_a_wish_is_written_down_once_and_told(server: Served) -> None:
    told = wish(server, "themis", {"name": "gandiva", "settings": {"quantum": 90, "interval": "2m"}})
    wish(server, "themis", {"name": "gandiva", "settings": {"quantum": 90, "interval": "2m"}})

    assert [(one["policy"], one["as_of"], one["tally"]) for one in told["shadows"]] == [
        ("themis", None, None),
        ("gandiva", None, None),
    ]
    assert told["shadows"][1]["settings"] == {"interval": 120.0, "quantum": 90}
    assert server.store.read(lambda tx: tx.meta(KEY)) == [
        {"policy": "themis", "settings": {}, "general": {}},
        {"policy": "gandiva", "settings": {"quantum": 90}, "general": {"interval": 120.0}},
    ]
    [event] = server.events(kind="shadows")
    assert (event.actor, event.before, event.after) == (USER_NAME, "", "themis,gandiva")


def test_an_empty_list_ends_it(server: Served) -> None:
    wish(server, "themis")

    assert wish(server)["shadows"] == []
    assert server.store.read(lambda tx: tx.meta(KEY)) is None


@pytest.mark.parametrize(
    ("rows", "field"),
    [
        ([{"name": "themsi"}], "policies.0.name"),
        ([{"name": "fifo"}, {"name": "gandiva", "settings": {"kwantum": 1}}], "policies.1.settings"),
        ([{"name": "fifo", "settings": {"interval": "soon"}}], "policies.0.settings.interval"),
        ([{"name": "mine.py"}], "policies.0.name"),
        ([{"name": "fifo"}, {"name": "fifo"}], "policies"),
        ([{"name": name} for name in ("fifo", "edf", "themis", "gandiva", "tiresias")], "policies"),
        ("fifo", "policies"),
    ],
)
def test_what_cannot_decide_along_is_refused_and_changes_nothing(
    server: Served, rows: Any, field: str
) -> None:
    wish(server, "edf")
    before = server.everything()

    error = server.refused("PUT", "/policy/shadows", {"policies": rows})

    assert (error["status"], error["field"]) == (422, field)
    assert server.everything() == before


class TestTheReport:
    @pytest.fixture
    def decided(self, server: Served) -> Served:
        """Two jobs: one was promised and done in time, one was declined; fifo has decided along."""
        server.join("uzel-1", 4, joined_at=NOW - 7200.0)
        server.set_meta(epoch=NOW - 7200.0)
        server.clock.now = NOW - 3600.0
        asked: dict[str, Any] = {"workers": 4, "total": {"steps": 3600}, "deadline": "+30m"}
        kept = server.submit("slib", curve={"4": 4.0}, **asked)["id"]
        refused = server.submit("odmítnutý", curve={"4": 1.0}, **asked)["id"]
        server.clock.now = NOW
        scaled = Event(
            kind="scaled", at=NOW - 3600.0, actor="policy:elasticflow", job=kept, data={"workers": 4}
        )
        server.store.write(lambda tx: tx.add_event(scaled))
        ended = NOW - 2690.0
        server.put(kept, **promised(server.job(kept), NOW - 1800.0), phase=Phase.SUCCEEDED, ended_at=ended)
        server.put(kept, promise=PromiseState.KEPT, started_at=NOW - 3600.0)
        no = a_contract(Reply.DECLINED)
        server.put(refused, phase=Phase.DECLINED, ended_at=NOW - 3600.0, contract=no)
        wish(server, "fifo")
        shadows = Shadows(server.store, server.clock, Scheduling(start_cost=0.0))
        shadows.look(Pace(Flag(), share=1.0))
        server.app.state.shadows = lambda: shadows.shown
        return server

    def test_it_counts_both_worlds(self, decided: Served) -> None:
        told = decided.get("/policy/shadows")

        really, [fifo] = told["really"], told["shadows"]
        assert (really["jobs"], really["declined"], really["kept"], really["in_time"]) == (2, 1, 1, 1)
        assert (really["mean_completion"], really["rescales"]) == (910.0, 0)
        counted = fifo["tally"]
        assert (counted["declined"], counted["promised"], counted["in_time"], counted["late"]) == (0, 0, 1, 1)
        assert counted["mean_completion"] == 900.0
        assert fifo["problem"] == ""

    def test_it_names_who_fares_differently(self, decided: Served) -> None:
        [difference] = decided.get("/policy/shadows")["shadows"][0]["differences"]

        assert (difference["name"], difference["kind"]) == ("odmítnutý", "admitted")
        assert difference["text"] == "would have been admitted"

    def test_only_jobs_of_the_time_asked_for_count(self, decided: Served) -> None:
        assert decided.get("/policy/shadows", since="10m")["shadows"][0]["tally"]["jobs"] == 0

    def test_a_shadow_that_is_wished_no_more_is_not_told_of(self, decided: Served) -> None:
        assert [one["policy"] for one in wish(decided, "edf")["shadows"]] == ["edf"]
        assert decided.get("/policy/shadows")["really"] is None

    def test_a_moment_that_is_none_is_refused(self, decided: Served) -> None:
        assert decided.refused("GET", "/policy/shadows?since=soon")["field"] == "since"
