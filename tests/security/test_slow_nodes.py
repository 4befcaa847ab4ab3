"""Slow uploads of samples, and many of them, take no place from other nodes nor from the node's next upload."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace

import pytest
from tests.e2e.platform import eventually
from tests.engines.authority import credential_of
from tests.engines.serving import Dialler, Server, an_app
from tests.security.raw_client import RawClient

from tenuto.engines import node_uploads
from tenuto.engines.local import LocalEngine
from tenuto.engines.node_uploads import RECEIVING_PER_NODE, TAKERS, WAITING_PER_NODE
from tenuto.model.node import Slot
from tenuto.wire.node import HEADER, PREFIX, PROTOCOL, Hello, Sampled, Samples, Welcome
from tenuto.wire.sample import NodeSample

HELLO = Hello(node="slow", session="s-1", slots=(Slot(),), address="10.0.0.1", version="1")
SAMPLES = Samples(node="slow", session="s-1", samples=(NodeSample(at=1.0, cpu=50.0),))
TIMEOUT_SECONDS = 20.0
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


class History:
    """Keeps the names of the nodes whose samples were taken in, unless it hangs."""

    def __init__(self) -> None:
        self.nodes: list[str] = []
        self.begun = threading.Semaphore(0)
        self.works = threading.Event()
        self.works.set()

    def take(self, told: Samples) -> Sampled:
        self.begun.release()
        assert self.works.wait(2 * TIMEOUT_SECONDS)
        self.nodes.append(told.node)
        return Sampled(kept=None)


class Site:
    """A server with two nodes."""

    def __init__(self, server: Server, history: History) -> None:
        self.server = server
        self.history = history
        self.stack = ExitStack()

    def node(self, name: str) -> Dialler:
        """A node that has said hello."""
        node = self.stack.enter_context(Dialler(self.server.url, node=name))
        node.say("/hello", replace(HELLO, node=name), Welcome)
        return node

    def slow_upload(self, name: str) -> RawClient:
        """An upload that the server has begun to read and that does not go on."""
        client = self.stack.enter_context(RawClient(self.server.url))
        headers = {
            "Authorization": f"Bearer {credential_of(name)}",
            HEADER: PROTOCOL,
            "Expect": "100-continue",
        }
        client.request("POST", f"{PREFIX}/samples", Content_Length="1000", **headers)
        assert client.socket.recv(len(CONTINUE)) == CONTINUE
        client.send("{")
        return client

    def upload_in_thread(self, name: str, statuses: list[int]) -> threading.Thread:
        def upload() -> None:
            with Dialler(self.server.url, node=name) as node:
                statuses.append(node.post("/samples", replace(SAMPLES, node=name)).status_code)

        thread = threading.Thread(target=upload)
        thread.start()
        return thread


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.close()


@pytest.fixture
def site(server: Server) -> Iterator[Site]:
    history, engine = History(), LocalEngine()
    server.app = an_app(engine, samples=history)
    made = Site(server, history)
    with made.stack:
        yield made
    history.works.set()
    engine.close()


def test_slow_uploads_take_no_place(site: Site) -> None:
    slow, other = site.node("slow"), site.node("other")
    for _ in range(WAITING_PER_NODE + TAKERS + 1):
        site.slow_upload("slow")

    assert other.post("/samples", replace(SAMPLES, node="other")).status_code == 200
    assert slow.post("/samples", SAMPLES).status_code == 200
    assert site.history.nodes == ["other", "slow"]


def test_a_node_with_many_whole_uploads_leaves_the_others_their_share(site: Site) -> None:
    slow, _ = site.node("slow"), site.node("other")
    site.history.works.clear()
    statuses: list[int] = []
    waiting = [site.upload_in_thread("slow", statuses) for _ in range(WAITING_PER_NODE)]
    for _ in range(min(WAITING_PER_NODE, TAKERS)):
        assert site.history.begun.acquire(timeout=TIMEOUT_SECONDS)
    refused = slow.post("/samples", SAMPLES)
    waiting.append(site.upload_in_thread("other", statuses))
    site.history.works.set()
    for thread in waiting:
        thread.join(TIMEOUT_SECONDS)

    assert (refused.status_code, refused.json()["code"]) == (503, "busy")
    assert statuses == [200] * (WAITING_PER_NODE + 1)
    assert "other" in site.history.nodes


def test_the_body_of_a_node_has_a_deadline_as_a_whole(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(node_uploads, "BODY_SECONDS", 0.3)
    site.node("slow")
    client = site.slow_upload("slow")
    client.socket.settimeout(0.05)

    def trickle() -> bytes:
        client.send(" ")
        try:
            return client.socket.recv(1000)
        except TimeoutError:
            return b""

    answer = eventually(trickle, "the upload is refused", within=3.0)
    assert answer.startswith(b"HTTP/1.1 408 ") and b'"too_slow"' in answer


def test_of_too_many_bodies_of_a_node_the_oldest_is_ended(site: Site) -> None:
    site.node("slow")
    oldest = site.slow_upload("slow")
    others = [site.slow_upload("slow") for _ in range(RECEIVING_PER_NODE)]

    status, error = oldest.response()
    assert (status, error["code"]) == (408, "too_slow")
    others[-1].send(" " * 999)
    assert others[-1].response()[0] == 422, "the newest is read wholly, and is none"
