"""The event stream of a server that is killed and started again: no event is lost, none is told twice."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.e2e.jobs import a_job
from tests.e2e.platform import HANG, Platform

import tenuto

JOBS = 8


@pytest.fixture
def platform(tmp_path: Path) -> Iterator[Platform]:
    """A server without nodes: everything that is submitted waits."""
    made = Platform(tmp_path, "--no-local")
    try:
        yield made.up()
        made.down()
    finally:
        made.end()


def test_a_listener_outlives_a_server_that_is_killed(
    platform: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TENUTO_HOME", str(platform.home))
    names: list[str] = []
    numbers: list[int] = []
    heard = threading.Event()

    def listen() -> None:
        with tenuto.Client(patience=HANG) as client:
            for event in client.events(after=0, follow=True):
                numbers.append(event.id)
                if event.kind == "submitted":
                    names.append(event.data["name"])
                    heard.set()
                if len(names) == JOBS:
                    return

    listener = threading.Thread(target=listen)
    listener.start()
    with platform.client(patience=30.0) as client:
        for number in range(JOBS):
            if number == JOBS // 2:
                assert heard.wait(HANG)
                platform.kill()
                platform.up()
            client.submit(a_job(f"학습-{number}", "true"))
    listener.join(HANG)

    assert names == [f"학습-{number}" for number in range(JOBS)]
    assert numbers == list(range(1, numbers[-1] + 1))
