"""The timeline over the API: past, future, what is left out, and words for what cannot be shown."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from tests.server.serving import NOW, Served, promised

from tenuto.model.event import Event
from tenuto.model.phase import Phase
from tenuto.model.series import CLUSTER, Points, Subject
from tenuto.server.outlook import foreseen
from tenuto.server.scene import view
from tenuto.wire.quantities import rfc3339

HANG = 60.0


def a_job(server: Served, name: str, **fields: Any) -> str:
    asked = {"workers": "1..4", "total": {"steps": 4000}, "curve": {"1": 1.0, "2": 2.0, "4": 4.0}, **fields}
    id_: str = server.submit(name, **asked)["id"]
    return id_


def scaled(server: Served, job: str, at: float, workers: int) -> None:
    event = Event(kind="scaled", at=at, actor="policy:elasticflow", job=job, data={"workers": workers})
    server.store.write(lambda tx: tx.add_event(event))


def runs(server: Served, job: str, *sizes: tuple[float, int]) -> None:
    """Let a job have had these sizes, the last one now."""
    for at, workers in sizes:
        scaled(server, job, at, workers)
    server.runs(job, node_0=tuple(range(sizes[-1][1])))
    server.put(job, started_at=sizes[0][0], **promised(server.job(job), NOW + 4000.0))


def looked_ahead(server: Served) -> None:
    """Have the future seen, which takes a while the first time."""
    here = server.app.state.platform

    def look() -> Any:
        return server.store.read(lambda tx: view(here, tx))

    here.outlook.now(server.store.revision(), look, patience=HANG)
    assert here.outlook.last.future is not None


def stretches(told: list[dict[str, Any]]) -> list[tuple[float | None, float | None, int]]:
    """In seconds from now."""

    def seconds(moment: str | None) -> float | None:
        return None if moment is None else datetime.fromisoformat(moment).astimezone(UTC).timestamp() - NOW

    return [(seconds(one["begin"]), seconds(one["end"]), one["slots"]) for one in told]


def test_past_and_future_of_a_job_meet_at_now(server: Served) -> None:
    server.join("node-0")
    job = a_job(server, "대학 실험")
    runs(server, job, (NOW - 600.0, 1), (NOW - 100.0, 4))
    looked_ahead(server)

    told = server.get("/timeline", since="1h", until="+2h")

    [one] = told["jobs"]
    assert (one["id"], one["name"], one["state"]) == (job, "대학 실험", "running")
    assert stretches(one["past"]) == [(-600.0, -100.0, 1), (-100.0, 0.0, 4)]
    [(begin, end, slots)] = stretches(one["foreseen"])
    assert (begin, slots) == (0.0, 4) and end is not None and end > 900.0
    assert (one["promised"], one["promise"]) == (rfc3339(NOW + 4000.0), "holds")
    assert one["finish"] is not None and told["as_of"] == rfc3339(NOW)
    assert (told["slots"], told["now"], told["more"]) == (4, rfc3339(NOW), False)
    assert told["foreseen"]["slots"][0] == 4.0 and told["foreseen"]["slots"][-1] == 0.0
    assert len(told["foreseen"]["at"]) == len(told["foreseen"]["slots"]) <= 151


def test_slots_in_use_come_from_what_was_counted(server: Served) -> None:
    series = server.app.state.platform.files.series
    at = [NOW - 3600.0 + 10.0 * number for number in range(360)]
    series.add([Points(subject=Subject(CLUSTER), at=at, values={"slots_used": [3.0] * 360})])

    used = server.get("/timeline", since="1h")["past"]

    assert set(used["slots"]) == {3.0} and 100 < len(used["at"]) <= 300


def test_of_too_many_jobs_those_with_slots_are_told_and_then_the_newest(server: Served) -> None:
    server.join("node-0")
    ended = [a_job(server, f"ended {number}") for number in range(3)]
    for number, job in enumerate(ended):
        moments = {"submitted_at": NOW - 950.0, "started_at": NOW - 900.0, "ended_at": NOW - 300.0 + number}
        server.put(job, phase=Phase.SUCCEEDED, **moments)
    declined = a_job(server, "declined")
    server.put(declined, phase=Phase.DECLINED, ended_at=NOW - 5.0)
    a_job(server, "waits")
    has_slots = a_job(server, "runs")
    runs(server, has_slots, (NOW - 600.0, 1))

    def names(**query: Any) -> list[str]:
        return [job["name"] for job in server.get("/timeline", **query)["jobs"]]

    assert names() == ["runs", "waits", "ended 2", "ended 1", "ended 0"]
    assert names(limit=3) == ["runs", "waits", "ended 2"]
    assert server.get("/timeline", limit=3)["more"] and server.get("/timeline", limit=1)["more"]
    assert names(limit=1) == ["runs"]
    assert names(since="200s") == ["runs", "waits"]
    assert names(since=rfc3339(NOW - 700.0), until=rfc3339(NOW - 299.5)) == ["ended 2", "ended 1", "ended 0"]


def test_an_empty_platform_has_an_empty_timeline(server: Served) -> None:
    told = server.get("/timeline")

    assert (told["jobs"], told["as_of"], told["slots"]) == ([], None, 0)
    assert told["past"] == told["foreseen"] == {"at": [], "slots": []}


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("since=yesterday", "since"),
        ("until=tomorrow", "until"),
        ("since=2026-01-01T00:00Z&until=2025-01-01T00:00Z", "since"),
        ("until=9999-12-31T23:59:59Z", "until"),
        ("limit=0", "limit"),
        ("owner=me", "owner"),
    ],
)
def test_a_time_that_cannot_be_shown_is_refused(server: Served, query: str, field: str) -> None:
    error = server.refused("GET", f"/timeline?{query}")

    assert (error["status"], error["code"], error["field"]) == (422, "input_invalid", field)


def test_a_look_keeps_its_future(server: Served) -> None:
    server.join("node-0")
    job = a_job(server, "학습")
    runs(server, job, (NOW - 1.0, 2))

    seen = foreseen(server.store.read(lambda tx: view(server.app.state.platform, tx)))

    assert seen.future is not None and set(seen.future.rows) == set(seen.etas) == {job}
