"""A server that does not listen blames no node for it, whatever keeps it from listening."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Callable, Iterator

import psutil
import pytest
from tests.e2e.jobs import FOREVER, a_job
from tests.e2e.platform import Platform, eventually

TIMEOUT_SECONDS = 2.0
STALL_SECONDS = 2 * TIMEOUT_SECONDS
BLOCKS_ITS_LOOP = f"""
import signal, time
signal.signal(signal.SIGUSR1, lambda *_: time.sleep({STALL_SECONDS}))
from tenuto.cli.main import main
main()
"""
"""A server whose main thread, and with it the event loop, sleeps after SIGUSR1 while its other threads go on."""


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    made = Platform(tmp_path_factory.mktemp("stalled"), "--nodes", "2", "--slots", "1")
    made.program = (sys.executable, "-c", BLOCKS_ITS_LOOP)
    made.settings = {"TENUTO_NODES_TIMEOUT": str(TIMEOUT_SECONDS), "TENUTO_NODES_HEARTBEAT": "0.5"}
    try:
        made.up()
        eventually(lambda: made.decides, "the controller decides")
        yield made
        made.down()
    finally:
        made.end()


def pass_time(seconds: float) -> None:
    begun = time.monotonic()
    eventually(lambda: time.monotonic() - begun > seconds, "time passes")


def block_event_loop(server: int) -> None:
    os.kill(server, signal.SIGUSR1)
    pass_time(STALL_SECONDS)


def halt_process(server: int) -> None:
    os.kill(server, signal.SIGSTOP)
    pass_time(STALL_SECONDS)
    os.kill(server, signal.SIGCONT)


def offline_nodes(platform: Platform) -> list[str]:
    """All nodes that were ever declared offline."""
    with platform.client(patience=30.0) as client:
        events = client.events(kind="node", limit=500)["items"]
    return [event["node"] for event in events if event["after"] == "offline"]


def supervisor_of(platform: Platform, node: str) -> psutil.Process:
    for process in platform.processes():
        line = process.cmdline()
        if "tenuto.engines.supervisor" in line and line[line.index("--node") + 1] == node:
            return process
    raise AssertionError(f"{node} has no supervisor")


@pytest.mark.parametrize("stall", [block_event_loop, pytest.param(halt_process, marks=pytest.mark.attack)])
def test_a_stalled_server_declares_no_node_offline_and_still_notices_one_that_dies(
    platform: Platform, stall: Callable[[int], None]
) -> None:
    with platform.client(patience=30.0) as client:
        jobs = [client.submit(a_job(f"stays-{number}", FOREVER))["id"] for number in range(2)]
        for job in jobs:
            platform.wait_for(job, "running")
        assert platform.server is not None
        already_offline = offline_nodes(platform)

        stall(platform.server.pid)

        assert client.cluster()["controller"]["state"] == "deciding"
        assert [client.job(job)["state"] for job in jobs] == ["running", "running"]
        dies = client.nodes()["items"][0]["name"]
        supervisor = supervisor_of(platform, dies)
        supervisor.suspend()
        eventually(
            lambda: dies in offline_nodes(platform)[len(already_offline) :], f"{dies} is declared offline"
        )
        assert offline_nodes(platform)[len(already_offline) :] == [dies]
        supervisor.resume()
        eventually(
            lambda: all(node["state"] == "online" for node in client.nodes()["items"]), "all nodes are back"
        )
        lost = [client.job(job)["restarts"]["losses"] for job in jobs]
        assert sorted(lost) == [0, 1]
        for job in jobs:
            client.act(job, "cancel")
            platform.wait_for(job, "cancelled")
