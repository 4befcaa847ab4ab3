"""A node with a valid credential sends what some parsers take and others do not: its requests are refused or believed,
and the controller, the lists and a restart go on.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.engines.serving import Server
from tests.security.node_site import Site, Speaker, a_hello, a_site
from tests.security.poison import all_poisoned, forget_decoded

from tenuto.live.controller import Controller
from tenuto.store.open import open_store
from tenuto.wire.codec import encode
from tenuto.wire.node import Report
from tenuto.wire.worker import WorkerOrder, WorkerSeen, WorkerState

NODE = "n-1"
READS = (
    "/jobs",
    "/nodes",
    "/events",
    "/cluster",
    "/cluster/map",
    "/overview",
    "/table/jobs",
    "/timeline",
    "/report",
)


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    one = Server()
    yield one
    one.close()


def a_report(order: WorkerOrder) -> dict[str, Any]:
    worker = WorkerSeen(
        id=order.id,
        node=NODE,
        state=WorkerState.RUNNING,
        slot=order.slot,
        pid=4711,
        started_at=1.8e9,
        step=3.0,
        data={"loss": 0.5},
        generation=1,
        stage="ready",
    )
    report = Report(node=NODE, session="s-1", workers=(worker,), ports=(29500,), memory=(0.5,))
    told: dict[str, Any] = json.loads(encode(report))
    told["workers"][0] |= {"ended_at": None, "exit_code": None, "message": ""}
    return told


def check_reads(site: Site) -> None:
    jobs = [job["id"] for job in site.user("GET", "/jobs").json()["items"]]
    about_jobs = [f"/jobs/{id_}{part}" for id_ in jobs for part in ("", "/attempts", "/explain", "/logs")]
    for path in (*READS, *about_jobs, f"/nodes/{NODE}"):
        answer = site.user("GET", path)
        assert answer.status_code == 200, (path, answer.text)


def placed(site: Site) -> tuple[Speaker, Controller, WorkerOrder]:
    """A node that was ordered to run a worker."""
    node = site.joined(NODE)
    controller = Controller(site.store, site.engine, site.clock, force=True)
    form = {"name": "trénink", "run": "true", "retry": {"failures": 100}}
    assert site.user("POST", "/jobs", form).is_success
    node.request("POST", "/report", Report(node=NODE, session="s-1", workers=(), ports=(29500,)))
    for _ in range(3):
        controller.tick()
    (order,) = node.orders().workers
    return node, controller, order


def test_whatever_a_node_sends_stops_nothing(
    tmp_path: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A node may not send as fast as this test does.
    monkeypatch.setattr("tenuto.engines.node_api.REQUESTS_AT_ONCE", 1e6)
    url = f"sqlite:///{tmp_path / 'store.sqlite'}"
    with closing(open_store(url)) as store, a_site(tmp_path, server, store=store) as site:
        node, controller, order = placed(site)
        hello = json.loads(encode(a_hello(NODE))) | {"labels": {"rack": "7"}}

        for path, bodies in {"/hello": all_poisoned(hello), "/report": all_poisoned(a_report(order))}.items():
            for body in bodies:
                answer = node.request("POST", path, body.encode())
                assert answer.status_code < 500, (path, body[:300], answer.text)
                controller.tick()
            check_reads(site)
            node.hello()
    forget_decoded()
    with closing(open_store(url)) as store, a_site(tmp_path, server, store=store) as site:
        Controller(store, site.engine, site.clock, force=True).tick()
        check_reads(site)
        assert not site.user("GET", "/events", kind="unreadable").json()["items"]


@pytest.mark.parametrize("moment", ["1e999", "1e300", "-1e300", "NaN", "1e12", "-1e12"])
@pytest.mark.parametrize("at_end", [False, True])
def test_a_worker_may_start_and_end_at_any_moment(
    tmp_path: Path, server: Server, moment: str, at_end: bool
) -> None:
    ended = {"state": "exited", "exit_code": 1, "reason": "ended", "ended_at": "<at>"}
    with a_site(tmp_path, server) as site:
        node, controller, order = placed(site)
        report = a_report(order)
        for fields in ({"started_at": 1.8e9 if at_end else "<at>"}, ended if at_end else {}):
            worker = report["workers"][0] | fields
            text = json.dumps(report | {"workers": [worker]}).replace('"<at>"', moment)
            assert node.request("POST", "/report", text.encode()).status_code in (200, 422)
            for _ in range(2):
                controller.tick()
            check_reads(site)
