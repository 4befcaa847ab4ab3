"""Slow uploads with a stolen secret of a node, and slow connections to the peers' port, at full size."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import pytest
from tests.e2e.platform import Platform, eventually
from tests.security.peer_port import PeerPort, a_peer_port
from tests.security.raw_client import RawClient

from tenuto.client.plain import PlainClient
from tenuto.errors import NotFound
from tenuto.wire.credential_file import read_credential
from tenuto.wire.node import HEADER, PREFIX, PROTOCOL

pytestmark = pytest.mark.attack

SLOW_UPLOADS = 250
SLOW_PEERS = 65
ATTACK_SECONDS = 20.0
TRICKLE_SECONDS = 0.5
"""Time between two bytes of a slow client."""
SEND_SECONDS = 0.02
"""Time between two messages of an honest peer: each takes a port of the machine for a minute."""
STALE_SECONDS = 10.0
"""A sample of a node is older than this only if uploads are not taken."""
RECEIVED = 204


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    made = Platform(tmp_path_factory.mktemp("attacked"), "--nodes", "2", "--slots", "1")
    try:
        made.up()
        eventually(lambda: made.decides, "the controller decides")
        yield made
        made.down()
        made.leaves_nothing()
    finally:
        made.end()


@contextmanager
def trickling(begin: Callable[[], RawClient], count: int) -> Iterator[None]:
    """Slow clients that send a byte now and then, and come again when they were closed."""
    over = threading.Event()
    with ExitStack() as stack:
        clients = [stack.enter_context(begin()) for _ in range(count)]

        def trickle() -> None:
            while not over.wait(TRICKLE_SECONDS):
                for number, client in enumerate(clients):
                    try:
                        client.socket.sendall(b" ")
                    except OSError:
                        clients[number] = stack.enter_context(begin())

        sending = threading.Thread(target=trickle)
        sending.start()
        try:
            yield
        finally:
            over.set()
            sending.join()


def slow_upload(platform: Platform, secret: str) -> RawClient:
    client = RawClient(platform.told["url"])
    headers = {"Authorization": f"Bearer {secret}", HEADER: PROTOCOL, "Content_Length": "1000000"}
    client.request("POST", f"{PREFIX}/samples", **headers)
    client.send(" " * 20_000)
    return client


def states(client: PlainClient) -> list[str]:
    return [node["state"] for node in client.nodes()["items"]]


def test_slow_uploads_of_one_node_do_not_stop_the_monitoring_of_any(platform: Platform) -> None:
    with platform.client(patience=30.0) as client:
        eventually(lambda: states(client) == ["online", "online"], "both nodes are online")
        nodes = [node["name"] for node in client.nodes()["items"]]

        def oldest_sample() -> float:
            """Seconds since the node was sampled of which the newest sample is oldest."""
            try:
                return max(float(client.node_sample(node)["age"]) for node in nodes)
            except NotFound:
                return math.inf

        eventually(lambda: oldest_sample() < STALE_SECONDS, "both nodes are sampled")
        secret = read_credential(next(platform.home.rglob("credential")).parent)
        assert secret
        oldest = 0.0
        with trickling(lambda: slow_upload(platform, secret), SLOW_UPLOADS):
            until = time.monotonic() + ATTACK_SECONDS
            while time.monotonic() < until:
                oldest = max(oldest, oldest_sample())
        print(
            f"\nDuring {SLOW_UPLOADS} slow uploads: the newest sample of each node was {oldest:.1f} s old at most"
        )
        assert oldest < STALE_SECONDS
        assert states(client) == ["online", "online"]


@pytest.mark.parametrize("begin", [PeerPort.begin_headers, PeerPort.begin_message])
def test_slow_connections_do_not_close_the_port_of_peers(begin: Callable[[PeerPort], RawClient]) -> None:
    with a_peer_port() as port, trickling(lambda: begin(port), SLOW_PEERS):
        sent, longest, until = 0, 0.0, time.monotonic() + ATTACK_SECONDS
        pause = threading.Event()
        while time.monotonic() < until and not pause.wait(SEND_SECONDS):
            begun = time.monotonic()
            assert port.send(sent) == RECEIVED
            sent, longest = sent + 1, max(longest, time.monotonic() - begun)
    print(
        f"\nDuring {SLOW_PEERS} slow connections: {sent} messages received, longest {longest * 1000:.0f} ms"
    )
