"""Servers, nodes and supervisors come and go; what trains goes on, and in the end nothing is left."""

from __future__ import annotations

import signal
import socket
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from tests.e2e.jobs import FOREVER, a_job, a_toy
from tests.e2e.platform import HANG, PROGRAM, Platform, eventually

QUICK = "nodes: {heartbeat: 0.5, timeout: 4}\n"
"""Settings under which a lost node is noticed soon."""


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Platform]]:
    """Platforms of a test's own; after it nothing of them may live."""
    made: list[Platform] = []

    def begin(*options: str) -> Platform:
        platform = Platform(tmp_path / f"haus-{len(made)}", *options)
        made.append(platform)
        return platform.up()

    yield begin
    for platform in made:
        platform.end()


class Machine:
    """Another machine, as far as processes can be one: a home and a supervisor of its own."""

    def __init__(self, directory: Path, platform: Platform, name: str, *options: str) -> None:
        self.home = directory / name
        self.log = directory / f"{name}.log"
        self.platform = platform
        self.name = name
        self.options = options
        self.process: subprocess.Popen[bytes] | None = None

    def join(self) -> Machine:
        arguments = (
            "node",
            "join",
            self.platform.told["url"],
            "--name",
            self.name,
            "--slots",
            "2",
            *self.options,
        )
        environment = {**self.platform.environment, "TENUTO_HOME": str(self.home)}
        environment["TENUTO_TOKEN"] = (self.platform.home / "node-token").read_text().strip()
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [*PROGRAM, *arguments],
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        return self

    def processes(self) -> list[psutil.Process]:
        mark = f"TENUTO_HOME={self.home}".encode()
        return [process for process in psutil.process_iter() if _has(process, mark)]

    def lose(self) -> None:
        """Everything on it dies at once."""
        for process in self.processes():
            process.kill()
        assert self.process
        self.process.wait(HANG)


def _has(process: psutil.Process, mark: bytes) -> bool:
    try:
        environment = Path(f"/proc/{process.pid}/environ").read_bytes()
        return mark in environment.split(b"\0") and process.status() != psutil.STATUS_ZOMBIE
    except (OSError, psutil.NoSuchProcess):
        return False


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Callable[..., Machine]]:
    made: list[Machine] = []

    def begin(platform: Platform, name: str, *options: str) -> Machine:
        made.append(Machine(tmp_path, platform, name, *options).join())
        return made[-1]

    yield begin
    for one in made:
        for process in one.processes():
            process.kill()
        if one.process:
            one.process.wait(HANG)


def pids(platform: Platform) -> dict[str, int]:
    return {name: process.pid for name, process in platform.workers().items()}


def states(platform: Platform) -> dict[str, str]:
    with platform.client(patience=5.0) as client:
        return {node["name"]: node["state"] for node in client.nodes()["items"]}


def slots(platform: Platform) -> dict[str, int]:
    with platform.client(patience=5.0) as client:
        return {node["name"]: node["total"] for node in client.nodes()["items"]}


def test_training_goes_on_without_the_server_and_is_found_again(start: Callable[..., Platform]) -> None:
    platform = start("--nodes", "2", "--slots", "2")
    with platform.client(patience=5.0) as client:
        job = client.submit(a_job("trwa", FOREVER, workers=3))["id"]
    platform.wait_for(job, "running")
    before, first = pids(platform), platform.told
    assert len(before) == 3
    assert (platform.home / "token").read_text().strip() == first["token"]

    for number, code in ((signal.SIGINT, 0), (signal.SIGKILL, -9)):
        assert platform.stop(number) == code
        assert pids(platform) == before

        platform.up()

        assert platform.told["port"] == first["port"]
        assert platform.told["token"] is None
        eventually(lambda: platform.decides, "it decides again")
        after = platform.wait_for(job, "running")
        assert (after["generation"], after["restarts"]) == (1, {"failures": 0, "losses": 0})
        assert pids(platform) == before
    platform.down()
    platform.leaves_nothing()


def test_down_keeps_the_jobs_for_the_next_start_with_a_server_or_without(
    start: Callable[..., Platform], tmp_path: Path
) -> None:
    platform = start("--slots", "2")
    with platform.client(patience=5.0) as client:
        job = client.submit(a_toy("jutro", tmp_path, workers="1..2"))["id"]
    platform.wait_for(job, "running")

    told = platform.down()
    assert "Everything has stopped" in told.stderr
    platform.leaves_nothing()

    platform.up()
    again = platform.wait_for(job, "running")
    assert (again["generation"], again["restarts"]) == (2, {"failures": 0, "losses": 0})
    platform.kill()
    assert platform.workers() != {}
    assert "Name that store again" in platform.cli(
        "up", "--store", f"sqlite:///{tmp_path}/other.sqlite", code=5
    )

    platform.down()
    platform.leaves_nothing()
    assert "Nothing runs" in platform.run("down").stderr


def test_a_machine_joins_is_drained_and_removed(
    start: Callable[..., Platform], machine: Callable[..., Machine]
) -> None:
    platform = start("--no-local")
    assert platform.json("node", "ls")["items"] == []
    desk = machine(platform, "desk", "--label", "room=dół")
    shelf = machine(platform, "shelf")
    eventually(lambda: states(platform) == {"desk": "online", "shelf": "online"}, "both have joined")

    with platform.client(patience=5.0) as client:
        job = client.submit(a_job("wandert", FOREVER, workers=2))["id"]
        first = next(iter(platform.wait_for(job, "running")["slots"]))
        other = {"desk": "shelf", "shelf": "desk"}[first]

        platform.cli("node", "drain", first)
        eventually(lambda: list(client.job(job)["slots"]) == [other], "it has moved")
        platform.wait_for(job, "running")

    eventually(lambda: platform.run("node", "rm", first).returncode == 0, "the node is empty and removed")
    left = desk if first == "desk" else shelf
    assert left.process
    assert left.process.wait(HANG) == 0
    assert left.processes() == []
    assert list(states(platform)) == [other]

    platform.down()
    platform.leaves_nothing()
    right = shelf if left is desk else desk
    assert right.process
    assert right.process.wait(HANG) == 0
    assert right.processes() == []


def test_jobs_of_a_lost_machine_go_on_elsewhere(
    start: Callable[..., Platform], machine: Callable[..., Machine], tmp_path: Path
) -> None:
    (tmp_path / "quick.yaml").write_text(QUICK)
    platform = start("--no-local", "--config", str(tmp_path / "quick.yaml"))
    homes = {name: machine(platform, name) for name in ("eins", "zwei")}
    eventually(lambda: len(states(platform)) == 2, "both have joined")
    with platform.client(patience=5.0) as client:
        job = client.submit(a_job("przeżyje", FOREVER, workers=2))["id"]
        first = next(iter(platform.wait_for(job, "running")["slots"]))

        eventually(lambda: client.node(first)["usage"], "somebody watches it")

        homes[first].lose()

        eventually(lambda: states(platform)[first] == "offline", "the loss is noticed")
        assert client.node(first)["usage"] is None
        assert f"{first}  OFFLINE  -" in platform.cli("node", "ls")
        eventually(lambda: client.job(job)["slots"] not in ({}, {first: [0, 1]}), "it has other slots")
        after = platform.wait_for(job, "running")
        assert after["restarts"] == {"failures": 0, "losses": 1}
        kinds = {attempt["node"]: attempt["reason"] for attempt in client.attempts(job)["items"]}
        assert kinds[first] in ("lost", "vanished")

        homes[first].join()
        eventually(lambda: client.node(first)["usage"], "it is back, and watched again")
        assert states(platform)[first] == "online"
        homes[first].lose()

    homes[after["allocation"].partition(":")[0]].lose()
    platform.down()
    platform.leaves_nothing()


def test_fewer_and_other_nodes_at_the_next_start(start: Callable[..., Platform]) -> None:
    platform = start("--nodes", "3", "--slots", "1")
    with platform.client(patience=5.0) as client:
        job = client.submit(a_job("rückt-zusammen", FOREVER, workers=1, node="node-2"))["id"]
        free = client.submit(a_job("bleibt", FOREVER))["id"]
    platform.wait_for(job, "running")
    platform.wait_for(free, "running")
    platform.stop()

    platform.up("--nodes", "2", "--slots", "2")

    # Each node reports its new slots by itself, and the removed one leaves: in any order.
    eventually(lambda: slots(platform) == {"node-0": 2, "node-1": 2}, "two nodes of two slots remain")
    platform.wait_for(job, "unschedulable", "queued")
    assert platform.job(free)["generation"] == 1
    platform.down()
    platform.leaves_nothing()


def test_a_server_in_the_background_is_alone_on_its_home_and_ended_by_down(tmp_path: Path) -> None:
    platform = Platform(tmp_path / "im-hintergrund")
    try:
        platform.told = platform.json("up", "--detach", "--slots", "1")
        refused = platform.cli("up", "--detach", code=5)
        assert f"process {platform.told['pid']} at {platform.told['url']}" in refused
        done = platform.run("down")
        assert done.returncode == 0, done.stderr
        platform.leaves_nothing()
    finally:
        platform.end()


def test_a_port_that_is_taken_is_told(tmp_path: Path) -> None:
    platform = Platform(tmp_path / "besetzt")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        told = platform.cli("up", "--port", str(taken.getsockname()[1]), code=5)

    assert "is in use" in told
    assert platform.processes() == []
