"""A supervisor without its directory stops its workers, reports why and ends; `tenuto down` counts what is left."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from tests.e2e.jobs import FOREVER, a_job
from tests.e2e.platform import Platform, eventually
from tests.engines.supervisor.node import HANG, NODE, Node, a_node, a_script, an_order

from tenuto.wire.worker import WorkerState


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    with a_node(tmp_path) as (_, node):
        yield node


@pytest.mark.parametrize("linked", [False, True], ids=["restarted", "rescaled in place"])
def test_a_supervisor_without_its_directory_stops_its_workers_reports_why_and_ends(
    node: Node, linked: bool
) -> None:
    desk, order = node.desk, an_order(linked=linked)
    desk.want(order)
    pid = desk.until_running(order).pid
    assert pid is not None

    shutil.rmtree(node.directory)

    desk.until(lambda: desk.engine.observe().nodes[NODE].problem)
    assert desk.until_state(order, WorkerState.EXITED).exit_code is None
    assert node.process is not None
    assert node.process.wait(HANG) != 0
    assert not psutil.pid_exists(pid)
    assert not node.pids()


def test_the_next_supervisor_works_again(node: Node) -> None:
    desk = node.desk
    shutil.rmtree(node.directory)
    assert node.process is not None
    node.process.wait(HANG)

    node.come_back()
    order = a_script("exit 3")
    desk.want(order)

    assert desk.until_exited(order).exit_code == 3
    assert not desk.engine.observe().nodes[NODE].problem


def test_a_directory_in_place_of_the_deleted_one_is_noticed_too(node: Node) -> None:
    node.directory.rename(node.directory.with_name("moved"))
    node.directory.mkdir()

    assert node.process is not None
    assert node.process.wait(HANG) != 0


def test_the_next_supervisor_kills_workers_whose_records_are_gone(node: Node) -> None:
    desk, order = node.desk, an_order()
    desk.want(order)
    pid = desk.until_running(order).pid
    assert pid is not None
    node.kill()
    shutil.rmtree(node.directory)

    node.come_back()

    desk.until(lambda: node.pids() == {node.pid})
    assert not psutil.pid_exists(pid)


@pytest.mark.parametrize("name", ["state.json", "crews/job.json"])
@pytest.mark.parametrize(
    "content", [b"[" * 100_000, b"[1]", b"{}", None], ids=["deep", "list", "empty", "pipe"]
)
def test_a_supervisor_starts_whatever_is_in_place_of_its_own_notes(
    node: Node, name: str, content: bytes | None
) -> None:
    desk, order = node.desk, an_order()
    desk.want(order)
    pid = desk.until_running(order).pid
    node.kill()
    file = node.directory / name
    file.unlink(missing_ok=True)
    if content is None:
        os.mkfifo(file)
    else:
        file.write_bytes(content)

    node.start()

    desk.until(lambda: _has_state(node.directory / "state.json"))
    node.come_back()
    assert desk.until_running(order).pid == pid


def _has_state(file: Path) -> bool:
    """Whether the supervisor has replaced what was put there."""
    return file.is_file() and b"session" in file.read_bytes()


@pytest.fixture
def platform(tmp_path: Path) -> Iterator[Platform]:
    made = Platform(tmp_path, "--slots", "2", "--start-cost", "0.5")
    try:
        yield made.up()
        made.down()
        made.leaves_nothing()
    finally:
        made.end()


def _running(platform: Platform, name: str) -> psutil.Process:
    """The worker of a job that runs until it is stopped."""
    with platform.client(patience=10.0) as client:
        client.submit(a_job(name, FOREVER))
    platform.wait_for(name, "running")
    (worker,) = platform.workers().values()
    return worker


def test_the_node_shows_why_its_job_starts_anew_and_down_stops_everything(platform: Platform) -> None:
    before = _running(platform, "długa")

    shutil.rmtree(platform.home / "nodes" / "node-0")

    with platform.client(patience=10.0) as client:
        reasons = eventually(
            lambda: [
                event["reason"]
                for event in client.events(kind="node")["items"]
                if event["before"] == "online" and event["after"] == "draining"
            ],
            "the node is drained",
        )
        assert "was deleted" in reasons[0]
        eventually(lambda: client.node("node-0")["state"] == "online", "the node is used again")
        assert client.node("node-0")["problem"] == ""
    eventually(lambda: [one for one in platform.workers().values() if one.pid != before.pid], "a new worker")
    assert not before.is_running()


def test_down_counts_workers_that_no_supervisor_knows(platform: Platform) -> None:
    worker = _running(platform, "sierota")
    supervisors = [p for p in platform.processes() if "tenuto.engines.supervisor" in p.cmdline()]
    platform.kill()
    for supervisor in supervisors:
        supervisor.kill()
    shutil.rmtree(platform.home / "nodes")

    refused = platform.run("down", "--yes")

    assert refused.returncode != 0
    assert str(worker.pid) in refused.stderr
    assert worker.is_running()
    os.kill(worker.pid, signal.SIGKILL)
    eventually(lambda: not platform.processes(), "the worker and its shim have gone")
