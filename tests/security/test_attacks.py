"""Clients without a token, or with bad requests, attack a running platform: it loses no job and no node.

How long other clients waited meanwhile is printed, not asserted: it depends on the machine.
"""

from __future__ import annotations

import json
import resource
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

import httpx
import pytest
from tests.e2e.jobs import FOREVER, a_job
from tests.e2e.platform import Platform, eventually
from tests.security.raw_client import RawClient
from tests.server.serving import QUICK

pytestmark = pytest.mark.attack

ATTACK_SECONDS = 60.0
CLIENTS = 4
HALF_OPEN = 1500
HALF_OPEN_SECONDS = 15.0
"""Longer than the headers of a request may take."""
WRONG_KEYS = 65_000
PIECE = b"a" * 65_536
FEW_OPEN_FILES = """
import resource
resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024))
from tenuto.cli.main import main
main()
"""
"""A server with as many open files as a usual Linux allows a process."""
ASK_SECONDS = 0.1
"""Time between two requests of the client whose waiting is measured."""


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    """Two nodes with one running job each; a node that is silent for 5 s counts as offline."""
    made = Platform(tmp_path_factory.mktemp("attacked"), "--nodes", "2", "--slots", "1")
    made.program = (sys.executable, "-c", FEW_OPEN_FILES)
    made.settings = {"TENUTO_NODES_TIMEOUT": "5", "TENUTO_NODES_HEARTBEAT": "0.5"}
    try:
        made.up()
        eventually(lambda: made.decides, "the controller decides")
        with made.client(patience=30.0) as client:
            for number in range(2):
                job = client.submit(a_job(f"stays-{number}", FOREVER))
                made.wait_for(job["id"], "running")
        yield made
        made.down()
        made.leaves_nothing()
    finally:
        made.end()


@dataclass
class Waits:
    """How long an authenticated client waited for each answer, in seconds."""

    seconds: list[float] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)

    def ask(self, platform: Platform, until: threading.Event) -> None:
        """Ask for the state of the cluster again and again; every second time over a new connection."""
        while not until.wait(ASK_SECONDS):
            with an_http_client(platform) as http:
                for _ in range(2):
                    begun = time.monotonic()
                    try:
                        status = http.get("/cluster").status_code
                    except httpx.TransportError as error:
                        self.failures.append(repr(error))
                        break
                    self.seconds.append(time.monotonic() - begun)
                    if status != 200:
                        self.failures.append(str(status))

    def __str__(self) -> str:
        ordered = sorted(self.seconds)
        median, worst = ordered[len(ordered) // 2], ordered[-1]
        return f"{len(ordered)} requests, median {median * 1000:.0f} ms, longest {worst * 1000:.0f} ms"


def an_http_client(platform: Platform) -> httpx.Client:
    token = (platform.home / "token").read_text().strip()
    return httpx.Client(
        base_url=f"{platform.told['url']}/api/v1", headers={"Authorization": f"Bearer {token}"}, **QUICK
    )


@contextmanager
def other_clients_are_answered(platform: Platform, attack: str) -> Iterator[None]:
    """Measure a client beside an attack; afterwards all its requests must have been answered."""
    waits, over = Waits(), threading.Event()
    asking = threading.Thread(target=waits.ask, args=(platform, over))
    asking.start()
    try:
        yield
    finally:
        over.set()
        asking.join()
    print(f"\nDuring {attack}: {waits}")
    assert waits.seconds
    assert waits.failures == []


@contextmanager
def attackers(count: int, attack: Callable[[threading.Event], None]) -> Iterator[None]:
    """Let so many clients attack until the context ends; an attacker that fails itself fails the test."""
    over, failures = threading.Event(), []

    def run() -> None:
        try:
            attack(over)
        except BaseException as error:
            failures.append(error)
            raise

    threads = [threading.Thread(target=run) for _ in range(count)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        over.set()
        for thread in threads:
            thread.join()
    assert failures == []


def pass_time(seconds: float) -> None:
    begun = time.monotonic()
    eventually(lambda: time.monotonic() - begun > seconds, "time passes", within=seconds + 30)


def nothing_was_lost(platform: Platform) -> None:
    """No node was ever declared offline, and both jobs have run since the beginning."""
    with platform.client(patience=30.0) as client:
        nodes = client.events(kind="node", limit=500)["items"]
        jobs = client.jobs(limit=200)["items"]
    assert [event["node"] for event in nodes if event["after"] == "offline"] == []
    lasting = [job for job in jobs if job["name"].startswith("stays-")]
    assert [job["state"] for job in lasting] == ["running", "running"]
    assert [job["restarts"]["losses"] for job in lasting] == [0, 0]


def test_endless_headers_take_nothing_from_others(platform: Platform) -> None:
    def endless_header(over: threading.Event) -> None:
        while not over.is_set():
            with RawClient(platform.told["url"]) as client:
                client.send(b"GET / HTTP/1.1\r\nX: ")
                while not over.is_set() and client.try_send(PIECE):
                    pass

    attack = f"{ATTACK_SECONDS:.0f} s of {CLIENTS} endless headers"
    with other_clients_are_answered(platform, attack), attackers(CLIENTS, endless_header):
        pass_time(ATTACK_SECONDS)

    nothing_was_lost(platform)


@pytest.mark.parametrize("addresses", [1, 30])
def test_half_open_connections_lock_nobody_out(platform: Platform, addresses: int) -> None:
    allow_open_files(HALF_OPEN + 200)
    attack = f"{HALF_OPEN} half-open connections from {addresses} addresses"
    with ExitStack() as connections, other_clients_are_answered(platform, attack):
        for number in range(HALF_OPEN):
            source = f"127.0.1.{number % addresses + 1}"
            client = connections.enter_context(RawClient(platform.told["url"], source))
            client.send("GET / HTTP/1.1\r\nX: a")
        with platform.client(patience=30.0) as authenticated:
            job = authenticated.submit(a_job("passes", "true", gpus=0))
        platform.wait_for(job["id"], "succeeded")
        pass_time(HALF_OPEN_SECONDS)

    nothing_was_lost(platform)


def test_bodies_with_thousands_of_wrong_keys_take_nothing_from_others(platform: Platform) -> None:
    body = json.dumps({f"k{index}": 1 for index in range(WRONG_KEYS)})

    def wrong_keys(over: threading.Event) -> None:
        with an_http_client(platform) as http:
            while not over.is_set():
                response = http.post("/jobs", content=body, headers={"Content-Type": "application/json"})
                assert response.status_code == 422

    attack = f"{CLIENTS} clients sending {WRONG_KEYS} wrong keys each"
    with other_clients_are_answered(platform, attack), attackers(CLIENTS, wrong_keys):
        pass_time(ATTACK_SECONDS / 3)

    nothing_was_lost(platform)


def allow_open_files(count: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < count:
        resource.setrlimit(resource.RLIMIT_NOFILE, (count, hard))
