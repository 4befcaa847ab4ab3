"""`/metrics` through its door: who may read it, in what form, and what it costs the others."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.monitor.prometheus.pages import Page, a_sample, read
from tests.server.serving import (
    NODE_TOKEN,
    NOW,
    QUICK,
    TOKEN,
    Served,
    a_form,
    a_server,
    error_in,
    promised,
)

from tenuto.model.event import Event
from tenuto.model.node import NodeState, Slot
from tenuto.model.phase import Phase, PromiseState
from tenuto.monitor.facts import OUTCOMES, Keeping, Pushing
from tenuto.server.app import create_app
from tenuto.server.glance import FRESH
from tenuto.server.retention import RetentionService
from tenuto.settings import Metrics, Quotas, Settings
from tenuto.store.base import Store, StoreUnavailable

HANGS = 60.0


class Time:
    """Of the glance and of the pages: passes only when told."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def time(server: Served, monkeypatch: pytest.MonkeyPatch) -> Time:
    passing = Time()
    for part in (server.app.state.glance, server.app.state.pages):
        monkeypatch.setattr(part, "_clock", passing)
    return passing


def asked(server: Served, **headers: str) -> httpx.Response:
    return httpx.get(f"{server.url}/metrics", headers=headers, **QUICK)


def scraped(server: Served, time: Time | None = None, **headers: str) -> Page:
    """What Prometheus reads, a little later than the last time."""
    if time is not None:
        time.now += FRESH
    answer = asked(server, Authorization=f"Bearer {TOKEN}", **headers)
    assert answer.status_code == 200, answer.text
    return read(answer.content, openmetrics="openmetrics" in answer.headers["content-type"])


@pytest.mark.parametrize("token", [None, "wrong", NODE_TOKEN])
def test_nobody_reads_it_without_a_token_of_a_user(server: Served, token: str | None) -> None:
    refused = asked(server, **({} if token is None else {"Authorization": f"Bearer {token}"}))

    assert error_in(refused)["status"] == 401
    assert b"tenuto_" not in refused.content


def test_everybody_reads_it_where_that_is_set(tmp_path: Path) -> None:
    with a_server(tmp_path, Settings(metrics=Metrics(public=True))) as server:
        assert asked(server).status_code == 200
        assert httpx.get(f"{server.url}/api/v1/cluster", **QUICK).status_code == 401


def test_the_host_must_be_known_here_too(tmp_path: Path) -> None:
    with a_server(tmp_path, Settings(metrics=Metrics(public=True))) as server:
        assert error_in(asked(server, Host="evil.example"))["code"] == "host_not_known"


def test_it_comes_as_text_as_openmetrics_and_packed(server: Served) -> None:
    with server.http.stream("GET", f"{server.url}/metrics", headers={"Accept-Encoding": "identity"}) as plain:
        assert plain.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
        assert "content-encoding" not in plain.headers
    packed = asked(
        server,
        Authorization=f"Bearer {TOKEN}",
        Accept="application/openmetrics-text; version=1.0.0, text/plain;q=0.5",
        **{"Accept-Encoding": "gzip"},
    )

    assert packed.headers["content-encoding"] == "gzip"
    assert packed.headers["content-type"].startswith("application/openmetrics-text; version=1.0.0")
    assert packed.headers["vary"] == "Accept, Accept-Encoding"
    assert packed.content.endswith(b"# EOF\n")


def test_other_methods_are_refused(server: Served) -> None:
    answer = httpx.post(f"{server.url}/metrics", headers={"Authorization": f"Bearer {TOKEN}"}, **QUICK)

    assert error_in(answer)["status"] == 405


def test_it_agrees_with_what_the_api_tells(server: Served, time: Time) -> None:
    server.join("uzel-1", slots=(Slot(device="0", kind="A"), Slot(device="1", kind="A")))
    server.join("노드-2", 4, state=NodeState.OFFLINE)
    first, second, third = (server.submit(f"훈련-{index}")["id"] for index in range(3))
    server.runs(first, uzel_1=(0,))
    server.put(second, phase=Phase.SUCCEEDED, ended_at=NOW)
    server.put(first, **promised(server.job(first), NOW + 60.0), idle_since=NOW)

    page = scraped(server, time)

    cluster = server.get("/cluster")
    assert {one.labels["state"]: one.value for one in page.samples("tenuto_jobs")} == cluster["jobs"]
    assert {one.labels["state"]: one.value for one in page.samples("tenuto_nodes")} == cluster["nodes"]
    slots = {
        one.labels["use"]: one.value
        for one in page.samples("tenuto_slots")
        if one.labels["node_state"] == "online"
    }
    assert slots == {"used": cluster["slots"]["used"], "free": 1.0}
    assert page.value("tenuto_queue_jobs") == 1.0
    assert page.value("tenuto_promises", state="holds") == 1.0
    assert page.value("tenuto_job_promised_timestamp_seconds", job_id=first) == NOW + 60.0
    assert page.value("tenuto_gpu_job", node="uzel-1", gpu="0") == 1.0
    assert page.value("tenuto_idle_slots") == page.value("tenuto_job_idle", job_id=first) == 1.0
    assert {one.labels["job_id"] for one in page.samples("tenuto_job_info")} == {first, third}


def test_what_changes_is_told_the_next_time(server: Served, time: Time) -> None:
    first, second = server.submit("one")["id"], server.submit("둘")["id"]
    assert scraped(server, time).value("tenuto_queue_jobs") == 2.0
    server.put(first, phase=Phase.FAILED, ended_at=NOW)
    server.http.post(f"/jobs/{second}/cancel")
    server.put(second, phase=Phase.CANCELLED, ended_at=NOW)
    server.http.delete(f"/jobs/{second}")

    page = scraped(server, time)

    assert (page.value("tenuto_queue_jobs"), page.value("tenuto_jobs", state="failed")) == (0.0, 1.0)
    assert page.samples("tenuto_job_info") == []


def test_a_page_is_kept_for_a_second(server: Served, time: Time) -> None:
    time.now = 10.0
    assert scraped(server).value("tenuto_queue_jobs") == 0.0
    server.submit("one")
    time.now += 0.9 * FRESH

    assert scraped(server).value("tenuto_queue_jobs") == 0.0
    time.now += 0.2 * FRESH
    assert scraped(server).value("tenuto_queue_jobs") == 1.0


def test_the_oldest_wait_is_that_of_who_came_first(server: Served, time: Time) -> None:
    server.submit("one")
    server.clock.now += 300.0
    server.submit("two")

    assert scraped(server, time).value("tenuto_queue_oldest_wait_seconds") == 300.0


def test_whose_promise_is_at_risk_is_told_before_all_others(tmp_path: Path) -> None:
    with a_server(tmp_path, Settings(metrics=Metrics(jobs=2))) as server:
        jobs = [server.submit(f"job-{index}")["id"] for index in range(4)]
        server.join("node-0")
        server.runs(jobs[2], node_0=(0,))
        server.put(jobs[3], promise=PromiseState.AT_RISK)

        page = scraped(server)

        assert [one.labels["job_id"] for one in page.samples("tenuto_job_info")] == [jobs[3], jobs[2]]
        assert page.value("tenuto_series_left_out", kind="jobs") == 2.0


def test_events_are_counted_once_from_the_server_s_beginning_on(server: Served, time: Time) -> None:
    server.submit("one")
    assert scraped(server, time).value("tenuto_jobs_submitted_total") == 1.0
    for index in range(3):
        server.submit(f"job-{index}")
    event = Event(kind="node", at=NOW, actor="controller", node="n", before="online", after="offline")
    server.store.write(lambda tx: tx.add_event(event))

    page = scraped(server, time)

    assert page.value("tenuto_jobs_submitted_total") == 4.0
    assert page.value("tenuto_node_losses_total") == 1.0
    again = create_app(server.store, server.app.state.platform.files, Settings(), server.clock)
    again.state.glance.now()
    assert again.state.platform.counts.submitted._value.get() == 0.0, "as Prometheus expects after a restart"


def test_what_became_of_promises_is_known_from_the_store(server: Served, time: Time) -> None:
    server.set_meta(**{OUTCOMES: {"kept": 12, "broken": 3}})

    page = scraped(server, time)

    closed = {one.labels["outcome"]: one.value for one in page.samples("tenuto_promises_closed_total")}
    assert closed == {"kept": 12.0, "broken": 3.0, "withdrawn": 0.0}


def test_samples_of_nodes_and_of_training_are_told(server: Served, time: Time) -> None:
    server.join("uzel-1")
    server.app.state.platform.files.latest.take("uzel-1", [a_sample()])
    job = server.submit("훈련")["id"]
    server.runs(job, uzel_1=(0, 1))
    record = {"seq": 0, "kind": "step", "at": NOW, "generation": 1, "step": 10, "rank": 0, "world": 2}
    told = {
        "worker": f"{job}.1.worker.0",
        "records": [{**record, "samples": 640, "samples_per_second": 64.0}],
    }
    server.post(f"/jobs/{job}/metrics", told)

    page = scraped(server, time)

    assert page.value("tenuto_gpu_utilisation_ratio", node="uzel-1", gpu="0") == 0.55
    assert page.value("tenuto_job_samples_total", job_id=job) == 640.0
    assert page.value("tenuto_job_samples_per_second", job_id=job) == 64.0


def test_the_history_and_the_influxdb_are_told_if_they_tell(
    server: Served, time: Time, monkeypatch: pytest.MonkeyPatch
) -> None:
    series = server.app.state.platform.files.series
    monkeypatch.setattr(type(series), "health", Keeping(points=7, trouble="full"), raising=False)
    server.app.state.pages.pushing = lambda: Pushing(written=5, buffered=99)

    page = scraped(server, time)

    assert (page.value("tenuto_history_points_total"), page.value("tenuto_history_up")) == (7.0, 0.0)
    assert (page.value("tenuto_influx_buffered_bytes"), page.value("tenuto_influx_up")) == (99.0, 1.0)


def test_what_is_kept_is_told_beside_its_quota_once_it_was_measured(server: Served, time: Time) -> None:
    server.submit("a")
    assert scraped(server, time).samples("tenuto_events") == []
    service = RetentionService(server.app.state.platform)
    server.app.state.pages.usage = lambda: service.usage
    service.run_round()

    page = scraped(server, time)

    quotas = Quotas()
    assert page.value("tenuto_events") == server.get("/events", last=True)["items"][-1]["id"]
    assert page.value("tenuto_events_quota") == quotas.events
    assert page.value("tenuto_logs_bytes") == 0.0
    assert page.value("tenuto_logs_quota_bytes") == quotas.log_bytes
    assert page.value("tenuto_records_quota_bytes") == quotas.record_bytes


@contextmanager
def a_store_that_hangs(store: Store, monkeypatch: pytest.MonkeyPatch) -> Iterator[threading.Event]:
    """Reads wait until this is over; the event is set when somebody waits."""
    really, go_on, waits = store.read, threading.Event(), threading.Event()

    def read(look: Any) -> Any:
        waits.set()
        assert go_on.wait(HANGS)
        return really(look)

    monkeypatch.setattr(store, "read", read)
    try:
        yield waits
    finally:
        monkeypatch.setattr(store, "read", really)
        go_on.set()


def test_nobody_waits_for_a_page_that_is_being_written(
    server: Served, time: Time, monkeypatch: pytest.MonkeyPatch
) -> None:
    scraped(server, time)
    pages: list[Page] = []
    time.now += FRESH
    with a_store_that_hangs(server.store, monkeypatch) as waits:
        scrapes = [threading.Thread(target=lambda: pages.append(scraped(server))) for _ in range(3)]
        for scrape in scrapes:
            scrape.start()
        assert waits.wait(HANGS)
        assert httpx.get(f"{server.url}/healthz", **QUICK).status_code == 200
        assert pages == []
    for scrape in scrapes:
        scrape.join(HANGS)
    assert len(pages) == 3


def test_a_store_that_is_away_is_told_and_what_was_counted_still_is(
    server: Served, time: Time, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.submit("one")
    scraped(server, time)  # the token is remembered

    def away(_: Any) -> Any:
        raise StoreUnavailable("the disk is full", remedy="Make room")

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(server.store, "read", away)
        page = scraped(server, time)

    assert page.value("tenuto_store_up") == 0.0
    assert page.value("tenuto_jobs_submitted_total") == 1.0
    assert page.samples("tenuto_jobs") == [], "better no value than an old one"
    assert scraped(server, time).value("tenuto_store_up") == 1.0


def routes(page: Page) -> dict[tuple[str, str, str], float]:
    return {
        (one.labels["method"], one.labels["route"], one.labels["code"]): one.value
        for one in page.samples("tenuto_http_requests_total")
    }


def test_requests_are_told_by_their_routes_and_never_by_paths(server: Served, time: Time) -> None:
    for index in range(3):
        job = server.submit(f"job-{index}")["id"]  # the straight way
        server.get(f"/jobs/{job}")
        server.http.get(f"/jobs/nichts-{index}")
        httpx.get(f"{server.url}/{index}/где-то", **QUICK)
        server.http.request("TRACE", f"/jobs/{job}")
    server.http.post("/jobs", json=a_form(workers="none"))

    page = scraped(server, time)

    assert routes(page) == {
        ("POST", "/api/v1/jobs", "201"): 3.0,
        ("POST", "/api/v1/jobs", "422"): 1.0,
        ("GET", "/api/v1/jobs/{ref}", "200"): 3.0,
        ("GET", "/api/v1/jobs/{ref}", "404"): 3.0,
        ("GET", "other", "404"): 3.0,
        ("other", "/api/v1/jobs/{ref}", "405"): 3.0,
    }
    durations = page.samples("tenuto_http_request_duration_seconds_count")
    assert sum(one.value for one in durations) == 16.0


def test_a_request_that_asks_to_wait_is_counted_and_not_timed(server: Served, time: Time) -> None:
    job = server.submit("one")["id"]
    server.put(job, phase=Phase.SUCCEEDED, ended_at=NOW)
    server.get(f"/jobs/{job}", wait="end")

    page = scraped(server, time)

    assert routes(page)["GET", "/api/v1/jobs/{ref}", "200"] == 1.0
    timed = {one.labels["route"] for one in page.samples("tenuto_http_request_duration_seconds_count")}
    assert timed == {"/api/v1/jobs"}


def test_a_failure_of_our_own_is_counted_as_one(
    server: Served, time: Time, monkeypatch: pytest.MonkeyPatch
) -> None:
    scraped(server, time)
    monkeypatch.setattr(server.app.state.platform.store, "read", lambda _: 1 / 0)
    assert server.http.get("/cluster").status_code == 500
    monkeypatch.undo()

    assert routes(scraped(server))["GET", "/api/v1/cluster", "500"] == 1.0


def test_listeners_of_the_event_stream_are_counted(server: Served, time: Time) -> None:
    with server.http.stream("GET", "/events/stream") as stream:
        heard = stream.iter_bytes()
        next(heard)
        assert scraped(server, time).value("tenuto_event_listeners") == 1.0


def test_jobs_seen_step_by_step_are_those_seen_at_once(server: Served, time: Time) -> None:
    """Whoever looks again and again at what is new sees what one sees who looks at everything."""
    jobs = [server.submit(f"job-{index}")["id"] for index in range(6)]
    for index, job in enumerate(jobs):
        phase = (Phase.QUEUED, Phase.RUNNING, Phase.SUCCEEDED)[index % 3]
        server.put(job, phase=phase, ended_at=NOW if phase is Phase.SUCCEEDED else None)
        scraped(server, time)

    fresh = create_app(server.store, server.app.state.platform.files, Settings(), server.clock)

    time.now += FRESH
    assert replace(server.app.state.glance.now(), at=0.0) == replace(fresh.state.glance.now(), at=0.0)


def test_a_job_that_scales_badly_makes_the_cluster_less_efficient(server: Served) -> None:
    server.join("węzeł", count=8)
    id_ = server.submit(workers="1..4", total={"steps": 100}, curve={"1": 10, "2": 16, "4": 20})["id"]
    server.runs(id_, węzeł=(0, 1, 2, 3))

    facts = server.app.state.glance.now()

    assert (facts.slots_used, facts.efficiency) == (4, 2 / 8)
