"""Waiting for a job: answered when something happens, at once if it has, in time if nothing does."""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from tests.server.serving import QUICK, Served

from tenuto.model.phase import Phase

HANG = 30.0


@pytest.fixture
def threads() -> Any:
    with ThreadPoolExecutor(64) as pool:
        yield pool


def waiting(
    server: Served, threads: ThreadPoolExecutor, id_: str, wait: str, seconds: float = 60
) -> Future[Any]:
    """Ask in another thread; returns when the server has noted that somebody waits."""
    bell = server.app.state.platform.bell
    before = sum(len(events) for events in bell._waiting.values())

    def ask() -> Any:
        with httpx.Client(base_url=server.http.base_url, headers=server.http.headers, **QUICK) as http:
            return http.get(f"/jobs/{id_}", params={"wait": wait, "timeout": seconds}, timeout=90).json()

    future = threads.submit(ask)
    hang = threading.Event()
    for _ in range(3000):
        if sum(len(events) for events in list(bell._waiting.values())) > before or future.done():
            return future
        hang.wait(0.01)
    raise AssertionError("nobody waits")


def test_who_waits_for_the_verdict_gets_it_when_it_is_there(
    server: Served, threads: ThreadPoolExecutor
) -> None:
    id_ = server.submit()["id"]
    answer = waiting(server, threads, id_, "verdict")

    server.put(id_, phase=Phase.DECLINED)

    assert answer.result(HANG)["state"] == "declined"


def test_who_waits_for_the_end_is_not_content_with_less(server: Served, threads: ThreadPoolExecutor) -> None:
    id_ = server.submit()["id"]
    answer = waiting(server, threads, id_, "end")
    for phase in (Phase.QUEUED, Phase.STARTING, Phase.RUNNING):
        server.put(id_, phase=phase)
    assert server.get(f"/jobs/{id_}", wait="verdict")["state"] == "running"
    assert not answer.done()

    server.put(id_, phase=Phase.SUCCEEDED)

    assert answer.result(HANG)["state"] == "succeeded"


def test_who_resumed_a_job_waits_for_its_new_verdict(server: Served, threads: ThreadPoolExecutor) -> None:
    id_ = server.submit()["id"]
    server.put(id_, phase=Phase.PAUSED, pause=True)
    assert server.get(f"/jobs/{id_}", wait="verdict", timeout=60)["state"] == "paused"
    server.post(f"/jobs/{id_}/resume")
    answer = waiting(server, threads, id_, "verdict")
    server.put(id_, phase=Phase.SUBMITTED)
    assert not answer.done()

    server.put(id_, phase=Phase.QUEUED)

    assert answer.result(HANG)["state"] == "queued"


def test_what_has_come_already_is_told_at_once(server: Served) -> None:
    id_ = server.submit()["id"]
    server.put(id_, phase=Phase.FAILED)

    for wait in ("verdict", "end"):
        assert server.get(f"/jobs/{id_}", wait=wait, timeout=60)["state"] == "failed"


def test_if_nothing_happens_the_job_is_shown_as_it_is(server: Served) -> None:
    id_ = server.submit()["id"]

    assert server.get(f"/jobs/{id_}", wait="end", timeout=0.05)["state"] == "submitted"
    assert server.get(f"/jobs/{id_}", wait="end", timeout=0)["state"] == "submitted"


def test_many_may_wait_while_others_are_served(server: Served, threads: ThreadPoolExecutor) -> None:
    ids = [server.submit()["id"] for _ in range(60)]  # more than there are threads to serve them
    answers = [waiting(server, threads, id_, "end") for id_ in ids]

    assert server.submit()["state"] == "submitted"
    for id_ in ids:
        server.put(id_, phase=Phase.CANCELLED)

    assert {answer.result(HANG)["state"] for answer in answers} == {"cancelled"}


def test_a_job_that_is_deleted_meanwhile_is_not_found(server: Served, threads: ThreadPoolExecutor) -> None:
    id_ = server.submit()["id"]
    answer = waiting(server, threads, id_, "end")

    server.http.delete(f"/jobs/{id_}")

    assert answer.result(HANG)["code"] == "not_found"


def test_everybody_is_sent_home_when_the_server_is_to_end(
    server: Served, threads: ThreadPoolExecutor
) -> None:
    id_ = server.submit()["id"]
    answer = waiting(server, threads, id_, "end")

    server.app.state.platform.bell.close()

    assert answer.result(HANG)["state"] == "submitted"
    assert server.get(f"/jobs/{id_}", wait="end", timeout=60)["state"] == "submitted"
