"""Records that cannot be read, in a server and a whole platform: they stop nothing, are named, and can be removed."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.e2e.platform import HANG, Platform, eventually
from tests.security.poison import nested
from tests.server.serving import Served, a_server

from tenuto.store.base import Attempt
from tenuto.wire.json_limits import MAX_DEPTH, MAX_INTEGER, MIN_INTEGER

WORST: dict[str, Any] = {
    "deep": nested(MAX_DEPTH - 1),
    "integers": [MIN_INTEGER, MAX_INTEGER],
    "floats": [1.7976931348623157e308, 5e-324, -0.0],
    "texts": ["\u202e\x1b]52;c;\x07", "\U0010ffff", "\x7f\u2028"],
    "many": list(range(9000)),
}
"""What is accepted, but only just."""


def spoil(path: Path, statement: str, *values: Any) -> None:
    """Change a store as a broken disk, or another version, would."""
    with closing(sqlite3.connect(path, timeout=30.0)) as connection, connection:
        assert connection.execute(statement, values).rowcount


class Spoiled:
    """A server over a store with one unreadable row of each kind."""

    def __init__(self, server: Served, path: Path) -> None:
        self.server = server
        self.good, self.bad = (server.submit(name)["id"] for name in ("gut", "schlecht"))
        server.join("n-good", 2)
        server.join("n-bad", 2)
        attempts = [
            Attempt(job=self.good, generation=1, role="worker", rank=rank, node="n-good") for rank in (0, 1)
        ]
        for one in attempts:
            server.store.write(lambda tx, one=one: tx.put_attempt(one))  # type: ignore[misc]
        spoil(path, "UPDATE jobs SET record = '[{' WHERE id = ?", self.bad)
        spoil(path, "UPDATE nodes SET record = '' WHERE name = 'n-bad'")
        spoil(path, "UPDATE events SET record = '7' WHERE job = ?", self.good)
        spoil(path, "UPDATE attempts SET record = '[]' WHERE rank = 0")


@pytest.fixture
def spoiled(tmp_path: Path) -> Iterator[Spoiled]:
    with a_server(tmp_path) as served:
        yield Spoiled(served, tmp_path / "store.sqlite")


READS = (
    "/jobs",
    "/table/jobs",
    "/nodes",
    "/events",
    "/cluster",
    "/cluster/map",
    "/overview",
    "/timeline",
    "/report",
    "/scaling",
    "/history",
    "/history/cluster",
    "/policy",
    "/jobs/{good}",
    "/jobs/{good}/attempts",
    "/jobs/{good}/explain",
    "/jobs/{good}/logs",
    "/jobs/{good}/metrics",
    "/nodes/n-good",
)


@pytest.mark.parametrize("path", READS)
def test_every_read_goes_on(spoiled: Spoiled, path: str) -> None:
    answer = spoiled.server.http.get(path.format(good=spoiled.good))

    assert answer.status_code == 200, answer.text


def test_prometheus_and_the_event_stream_go_on(spoiled: Spoiled) -> None:
    server = spoiled.server

    assert server.http.get(f"{server.url}/metrics").status_code == 200
    with server.http.stream("GET", "/events/stream", params={"after": 0, "timeout": 1}) as stream:
        told = [line for line in stream.iter_lines() if line.startswith("data:")]
    kinds = [json.loads(line.removeprefix("data:")).get("kind") for line in told]

    assert "submitted" in kinds


def test_what_is_unreadable_is_named_in_one_event_each(spoiled: Spoiled) -> None:
    server = spoiled.server
    for _ in range(2):
        for path in ("/jobs", "/nodes", "/events", f"/jobs/{spoiled.good}/attempts"):
            server.get(path)
    server.store.write(lambda _: None)  # behind what was to be reported

    told = {event["data"]["table"]: event for event in server.get("/events", kind="unreadable")["items"]}

    assert set(told) == {"jobs", "nodes", "events", "attempts"}
    assert len(server.get("/events", kind="unreadable")["items"]) == 4
    assert told["jobs"]["job"] == spoiled.bad
    assert told["nodes"]["node"] == "n-bad"


def test_an_unreadable_job_is_shown_as_such_and_can_be_deleted(spoiled: Spoiled) -> None:
    server, bad = spoiled.server, spoiled.bad

    for method, path in (("GET", f"/jobs/{bad}"), ("POST", f"/jobs/{bad}/cancel")):
        error = server.refused(method, path)
        assert (error["status"], error["code"]) == (409, "unreadable")
        assert f"tenuto delete {bad}" in error["remedy"]
    assert server.http.delete(f"/jobs/{bad}").json() == {"deleted": [bad]}

    assert server.refused("GET", f"/jobs/{bad}")["status"] == 404
    assert [job["id"] for job in server.get("/jobs")["items"]] == [spoiled.good]
    assert server.get("/events", job=bad, kind="deleted")["items"]


def test_an_unreadable_node_can_be_removed(spoiled: Spoiled) -> None:
    server = spoiled.server

    assert server.refused("GET", "/nodes/n-bad")["code"] == "unreadable"
    assert server.http.delete("/nodes/n-bad").json() == {"deleted": ["n-bad"]}
    assert server.refused("GET", "/nodes/n-bad")["status"] == 404


def test_a_platform_goes_on_with_poisoned_rows(tmp_path: Path) -> None:
    """The worst that is accepted, then one job and one event that nobody can read, then a restart."""
    platform = Platform(tmp_path, "--nodes", "1", "--slots", "2", "--start-cost", "0.1")
    try:
        platform.up()
        with platform.client(patience=HANG) as client:
            worst = client.submit({"name": "worst", "run": "true", "params": WORST})["id"]
            bad = client.submit({"name": "bad", "run": "sleep 1000", "params": WORST})["id"]
            platform.wait_for(worst, "succeeded")
            platform.wait_for(bad, "running")
        platform.stop()
        store = platform.home / "store.sqlite"
        deep = json.dumps([{"spec": {"params": nested(300)}}])
        spoil(store, "UPDATE jobs SET record = ? WHERE id = ?", deep, bad)
        spoil(store, "UPDATE events SET record = ? WHERE id = (SELECT MIN(id) FROM events)", deep)

        platform.up()
        with platform.client(patience=HANG) as client:
            new = client.submit({"name": "new", "run": "true"})["id"]
            platform.wait_for(new, "succeeded")
            assert client.job(worst)["spec"]["params"] == WORST
        assert {job["id"] for job in platform.json("ps", "--all")["items"]} >= {worst, new}
        assert platform.json("events")["items"]
        told = eventually(lambda: platform.json("events", "--kind", "unreadable")["items"], "it is named")
        assert bad in {event["job"] for event in told}
        assert f"tenuto delete {bad}" in platform.cli("show", bad, code=5)
        platform.cli("delete", bad, "--yes")
        assert platform.run("show", bad).returncode == 4
        platform.down()
        platform.leaves_nothing()
    finally:
        platform.end()
