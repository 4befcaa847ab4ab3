"""Lists and names: pages that fit together, filters, and which job is meant."""

from __future__ import annotations

from typing import Any

import pytest
from tests.server.serving import NOW, USER_NAME, Served
from tests.store.records import a_job, an_attempt, an_event

from tenuto.model.phase import Phase


def pages(server: Served, path: str, cursor: str = "cursor", **query: Any) -> list[list[Any]]:
    """All pages of a list."""
    found: list[list[Any]] = []
    following: dict[str, str] = {}
    while True:
        page = server.get(path, **query, **following)
        found.append(page["items"])
        if page["next"] is None:
            return found
        following = {cursor: page["next"]}


def test_a_thousand_jobs_come_in_pages_newest_first(server: Served) -> None:
    def fill(tx: Any) -> None:
        for number in range(1000):
            tx.add_job(a_job(f"zadanie {number}"))

    server.store.write(fill)

    found = pages(server, "/jobs", limit=50)

    assert len(found) == 20
    assert [job["name"] for job in found[1]] == [f"zadanie {number}" for number in range(949, 899, -1)]
    assert len({job["id"] for page in found for job in page}) == 1000


def test_a_job_that_comes_meanwhile_shifts_no_page(server: Served) -> None:
    ids = [server.submit()["id"] for _ in range(6)]
    first = server.get("/jobs", limit=3)
    server.submit("spóźniony")

    second = server.get("/jobs", limit=3, cursor=first["next"])

    assert [job["id"] for job in first["items"] + second["items"]] == ids[::-1]
    assert second["next"] is None


def test_jobs_are_found_by_state_owner_label_name_and_text(server: Served) -> None:
    running = server.submit("Kot", labels={"zespół": "wizja", "rok": "2027"})["id"]
    ended = server.submit("kotka", labels={"zespół": "wizja"})["id"]
    server.submit("pies")
    server.put(running, phase=Phase.RUNNING)
    server.put(ended, phase=Phase.SUCCEEDED)

    def found(**query: Any) -> list[str]:
        return [job["name"] for job in server.get("/jobs", **query)["items"]]

    assert found(state="running") == ["Kot"]
    assert found(state="running,succeeded") == ["kotka", "Kot"]
    assert found(state=["running", "submitted"]) == ["pies", "Kot"]
    assert found(label="zespół=wizja") == ["kotka", "Kot"]
    assert found(label=["zespół=wizja", "rok=2027"]) == ["Kot"]
    assert found(label="zespół=") == []
    assert found(name="Kot") == ["Kot"]
    assert found(text="KOT") == ["kotka", "Kot"]
    assert found(text=ended[:5]) == ["kotka"]
    assert found(owner=USER_NAME) == ["pies", "kotka", "Kot"]
    assert found(owner="ktoś") == []


def test_the_table_of_jobs_is_sorted_filtered_and_paged_by_the_server(server: Served) -> None:
    for number, name in enumerate(("żaba", "Kot", "kot", "学习", "table")):
        id_ = server.submit(name, labels={"parzysty": str(number % 2)}, total={"steps": 100})["id"]
        if number < 2:
            server.put(id_, phase=Phase.SUCCEEDED, ended_at=NOW + number)

    def found(**query: Any) -> list[str]:
        return [job["name"] for job in server.get("/table/jobs", **query)["items"]]

    assert found() == ["table", "学习", "kot", "Kot", "żaba"]
    assert found(order="submitted", skip=1, limit=2) == ["Kot", "kot"]
    assert found(order="name") == ["kot", "Kot", "table", "żaba", "学习"]
    assert found(order="state", label="parzysty=0") == ["table", "kot", "żaba"]
    assert found(order="-ended", limit=2) == ["Kot", "żaba"]
    page = server.get("/table/jobs", text="KOT", limit=1)
    assert (len(page["items"]), page["of"]) == (1, 2)
    assert server.get("/table/jobs", state="succeeded", skip=5) == {"items": [], "of": 2}
    assert server.get("/jobs/table")["name"] == "table"


def test_a_line_of_the_table_tells_where_the_job_stands(server: Served) -> None:
    server.join("węzeł", 4)
    id_ = server.submit("trening", workers="1..4", total={"steps": 100}, curve={"1": 1.0}, deadline="+1h")[
        "id"
    ]
    server.runs(id_, węzeł=(0, 1))

    [line] = server.get("/table/jobs")["items"]

    assert (line["id"], line["state"], line["wish"], line["owner"]) == (id_, "running", "", USER_NAME)
    assert (line["workers"], line["min_workers"], line["max_workers"]) == (2, 1, 4)
    assert line["done"] == 0.0
    assert line["deadline"] == "2027-01-15T09:00:00.000Z"
    assert (line["ended_at"], line["promise"], line["labels"]) == (None, "none", {})


def test_an_order_that_is_not_known_is_guessed(server: Served) -> None:
    error = server.refused("GET", "/table/jobs?order=-nam")

    assert (error["status"], error["field"]) == (422, "order")
    assert "Did you mean name?" in error["remedy"]


def test_a_name_means_the_newest_job_that_lives_else_the_newest(server: Served) -> None:
    old, lives, ended = (server.submit("bliźniak")["id"] for _ in range(3))
    server.put(old, phase=Phase.RUNNING)
    server.put(ended, phase=Phase.FAILED)

    assert server.get("/jobs/bliźniak")["id"] == lives
    for id_ in (old, lives):
        server.put(id_, phase=Phase.CANCELLED)
    assert server.get("/jobs/bliźniak")["id"] == ended


def test_the_beginning_of_an_id_is_enough_if_it_is_the_only_one(server: Served) -> None:
    for id_ in ("abcd000001", "abcd000002", "wxyz000001"):
        server.store.write(lambda tx, id_=id_: tx.add_job(a_job("x", id=id_)))  # type: ignore[misc]

    assert server.get("/jobs/wxyz")["id"] == "wxyz000001"
    assert server.get("/jobs/WXYZ0")["id"] == "wxyz000001"
    assert server.get("/jobs/abcd000002")["id"] == "abcd000002"
    error = server.refused("GET", "/jobs/abcd")
    assert (error["status"], error["code"]) == (409, "ambiguous")
    assert "abcd000001" in error["remedy"]
    assert server.refused("GET", "/jobs/wxy")["status"] == 404


def test_a_mistyped_name_is_guessed(server: Served) -> None:
    server.submit("segmentacja")

    assert server.refused("GET", "/jobs/segmentcja")["remedy"] == "Did you mean segmentacja?"


def test_events_come_in_order_and_can_be_followed(server: Served) -> None:
    id_, other = server.submit()["id"], server.submit()["id"]
    for verb in ("pause", "resume", "cancel"):
        server.post(f"/jobs/{id_}/{verb}")
    server.store.write(lambda tx: tx.add_event(an_event("node", node="node-7")))

    found = pages(server, "/events", "after", job=id_, limit=2)

    assert [len(page) for page in found] == [2, 2]
    assert [event["after"] for page in found for event in page] == ["submitted", "pause", "resume", "cancel"]
    assert [event["job"] for event in server.get("/events", last=True, limit=2)["items"]] == [id_, ""]
    assert [event["node"] for event in server.get("/events", node="node-7")["items"]] == ["node-7"]
    assert len(server.get("/events", kind="submitted")["items"]) == 2
    assert server.get("/events", job=other, after=2)["items"] == []


def test_attempts_tell_where_workers_ran_and_how_they_ended(server: Served) -> None:
    id_ = server.submit()["id"]

    def fill(tx: Any) -> None:
        for rank in range(3):
            tx.put_attempt(an_attempt(id_, rank=rank, pid=100 + rank, started_at=NOW, exit_code=rank))

    server.store.write(fill)

    found = pages(server, f"/jobs/{id_}/attempts", limit=2)

    assert [attempt["worker"] for page in found for attempt in page] == [
        f"{id_}.1.worker.{n}" for n in range(3)
    ]
    assert found[0][0]["started_at"] == "2027-01-15T08:00:00.000Z"


def test_a_job_shows_where_it_stands(server: Served) -> None:
    server.join("zachód", 2)
    server.join("wschód", 2, address="10.0.0.7")
    id_ = server.submit(workers="1..4", total={"steps": 100}, curve={"1": 1.0, "4": 3.0}, roles={"ps": {}})[
        "id"
    ]
    server.runs(id_, wschód=(0, 1), zachód=(1,))
    server.store.write(lambda tx: tx.put_attempt(an_attempt(id_, role="ps", started_at=NOW)))
    server.clock.now += 10

    shown = server.get(f"/jobs/{id_}")

    assert shown["allocation"] == "zachód:1,wschód:2"
    assert (shown["workers"], shown["slots"]) == (3, {"zachód": [1], "wschód": [0, 1]})
    assert shown["ready"] == {"worker": "0/3", "ps": "1/1"}
    assert (shown["progress"]["left"], shown["progress"]["done"], shown["elapsed"]) == (90.0, 10.0, 10.0)
    assert shown["interpolated"] == [3]
    assert server.get(f"/jobs/{id_}/hosts")["lines"] == ["127.0.0.1:1", "10.0.0.7:2"]


@pytest.mark.parametrize(
    ("fields", "restarts"),
    [
        ({"phase": Phase.RUNNING, "failures": 2, "losses": 1}, (2, 1)),
        ({"phase": Phase.SUCCEEDED, "why": "done", "failures": 1}, (1, 0)),
        ({"phase": Phase.FAILED, "why": "worker_failed", "failures": 1}, (0, 0)),
        ({"phase": Phase.FAILED, "why": "out_of_memory", "failures": 3}, (2, 0)),
        ({"phase": Phase.FAILED, "why": "max_duration", "failures": 1}, (1, 0)),
        ({"phase": Phase.LOST, "why": "workers_lost", "losses": 4}, (0, 3)),
    ],
)
def test_a_job_counts_its_starts_anew_and_not_the_failure_that_ended_it(
    server: Served, fields: dict[str, Any], restarts: tuple[int, int]
) -> None:
    id_ = server.submit()["id"]
    server.put(id_, **fields)

    shown = server.get(f"/jobs/{id_}")["restarts"]

    assert (shown["failures"], shown["losses"]) == restarts


def test_a_job_that_waits_shows_no_place(server: Served) -> None:
    id_ = server.submit(workers="1..4")["id"]

    shown = server.get(f"/jobs/{id_}")

    assert (shown["allocation"], shown["slots"], shown["ready"], shown["elapsed"]) == ("", {}, {}, 0.0)
    assert shown["progress"] == {
        "left": None,
        "total": None,
        "done": None,
        "speed": 0.0,
        "step": None,
        "unit": "steps",
    }
    assert server.get(f"/jobs/{id_}/hosts")["lines"] == []
