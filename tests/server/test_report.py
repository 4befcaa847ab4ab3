"""`GET /report`: promises, forecasts, and what else became of jobs lately."""

from __future__ import annotations

from typing import Any

from tests.server.serving import NOW, Served

from tenuto.model.job import ANSWERED, STARTED, Foretold
from tenuto.model.phase import Phase, PromiseState
from tenuto.server import report as report_page

DAY = 86_400.0


def ended(server: Served, name: str = "훈련", *, ago: float = DAY, **fields: Any) -> str:
    """A job that ended so many seconds ago, with success if nothing else is said."""
    id_: str = server.submit(name)["id"]
    given = {"phase": Phase.SUCCEEDED, "started_at": NOW - ago - 100.0, "ended_at": NOW - ago}
    server.put(id_, **{**given, **fields})
    return id_


def told(moment: str, off: float, late: float) -> Foretold:
    """A forecast by which the job of yesterday was so many seconds late, and so many after nine of ten."""
    end = NOW - DAY
    return Foretold(
        moment=moment,
        at=end - 500.0,
        finish=end - off,
        late=end - late,
        estimate=end,
        situation="runs/free/given",
    )


def test_an_empty_platform_has_nothing_to_report(server: Served) -> None:
    found = server.get("/report")

    assert found["ended"] == {}
    assert found["promises"] == {
        "kept": 0, "broken": 0, "withdrawn": 0, "open": 0, "at_risk": 0, "broken_by": []
    }  # fmt: skip
    assert found["forecasts"]["answered"]["p90_held"] is None
    assert (found["since"], found["until"]) == ("2027-01-08T08:00:00.000Z", "2027-01-15T08:00:00.000Z")


def test_promises_are_reported_with_what_broke_them(server: Served) -> None:
    ended(server, promise=PromiseState.KEPT)
    slow = ended(server, "Żółw", promise=PromiseState.BROKEN, breach="slower than its curve")
    ended(server, phase=Phase.CANCELLED, promise=PromiseState.WITHDRAWN)
    server.put(server.submit("위험")["id"], phase=Phase.QUEUED, promise=PromiseState.AT_RISK)
    late = ended(server, "늦음", phase=Phase.DECLINED, why="deadline_infeasible")

    found = server.get("/report")

    assert found["promises"] == {
        "kept": 1,
        "broken": 1,
        "withdrawn": 1,
        "open": 1,
        "at_risk": 1,
        "broken_by": [{"cause": "slower than its curve", "count": 1, "jobs": [{"id": slow, "name": "Żółw"}]}],
    }
    assert found["declined"] == [
        {"cause": "deadline_infeasible", "count": 1, "jobs": [{"id": late, "name": "늦음"}]}
    ]
    assert found["ended"] == {"cancelled": 1, "declined": 1, "succeeded": 2}


def test_forecasts_are_reported_by_the_moment_they_were_made(server: Served) -> None:
    ended(server, foretold=(told(ANSWERED, 30.0, -20.0), told(STARTED, -10.0, -20.0)))
    ended(server, foretold=(told(ANSWERED, -10.0, -20.0),))

    found = server.get("/report")["forecasts"]

    assert found["answered"] == {
        "jobs": 2, "p50_held": 0.5, "p90_held": 1.0, "mean_error": 20.0, "mean_delay": 10.0
    }  # fmt: skip
    assert (found["started"]["jobs"], found["started"]["mean_delay"]) == (1, -10.0)


def test_only_what_ended_since_then_is_counted_over_all_pages(server: Served, monkeypatch: Any) -> None:
    monkeypatch.setattr(report_page, "AT_ONCE", 2)
    for ago in (1.0, 1.0, 1.0, 3.0, 8.0, 30.0):
        ended(server, ago=ago * DAY)

    def counted(**query: str) -> int:
        return int(server.get("/report", **query)["ended"]["succeeded"])

    assert counted() == 4
    assert counted(since="2d") == 3
    assert counted(since="60d") == 6
    assert counted(since="2027-01-06T00:00Z") == 5


def test_a_time_that_nobody_understands_is_refused(server: Served) -> None:
    refused = server.refused("GET", "/report?since=gestern")

    assert (refused["status"], refused["field"]) == (422, "since")
