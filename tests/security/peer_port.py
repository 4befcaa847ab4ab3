"""The port on which a supervisor receives messages of others, and connections to it that do not behave."""

from __future__ import annotations

import http.client
import queue
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

from tests.security.raw_client import RawClient

from tenuto.engines.supervisor.crews.keys import PeerKeys
from tenuto.engines.supervisor.crews.reception import Reception
from tenuto.engines.supervisor.crews.words import JOB_HEADER, PATH, Word
from tenuto.wire.codec import encode
from tenuto.wire.worker import CrewOrder

SECRET = "a-secret-of-nodes"
JOB, NODE = "job-1", "node-1"
TIMEOUT_SECONDS = 20.0


def a_word(number: int = 1) -> Word:
    return Word(job=JOB, node=NODE, session="s", number=number, address="127.0.0.1:9", seats={})


def valid_headers() -> dict[str, str]:
    """Those of a peer."""
    return {"Authorization": f"Bearer {SECRET}", JOB_HEADER: JOB}


def known_keys() -> PeerKeys:
    """The secret of one job, of which one node may speak."""
    keys, nodes = PeerKeys(), {NODE: ""}
    keys.replace([CrewOrder(job=JOB, plan=1, members=(), lead=NODE, peers=nodes, hosts=nodes, secret=SECRET)])
    return keys


@dataclass
class PeerPort:
    """A supervisor's port, and the messages that were received there."""

    received: queue.Queue[Word] = field(default_factory=queue.Queue)
    reception: Reception = field(init=False)

    def __post_init__(self) -> None:
        self.reception = Reception("127.0.0.1", known_keys(), self.received.put)

    @property
    def url(self) -> str:
        return f"http://{self.reception.address}"

    def send(self, number: int = 1, *, source: str = "127.0.0.1", **more: str) -> int:
        """Send a message once, as a peer does; returns the status of the answer."""
        host, _, port = self.reception.address.rpartition(":")
        connection = http.client.HTTPConnection(host, int(port), TIMEOUT_SECONDS, source_address=(source, 0))
        try:
            connection.request("POST", PATH, body=encode(a_word(number)), headers=valid_headers() | more)
            return connection.getresponse().status
        finally:
            connection.close()

    def begin_headers(self, source: str = "127.0.0.1") -> RawClient:
        """A connection whose headers do not end."""
        client = RawClient(self.url, source)
        client.send(f"POST {PATH} HTTP/1.1\r\nX: a")
        return client

    def begin_message(self, source: str = "127.0.0.1") -> RawClient:
        """A connection of a peer whose message does not end."""
        client = RawClient(self.url, source)
        client.request("POST", PATH, **valid_headers(), Content_Length="1000")
        client.send("{")
        return client

    def has_peer(self) -> bool:
        """Whether a connection has shown its secret and its message has not ended."""
        return len(self.reception._server.connections._peers) > 0

    def closed(self, clients: list[RawClient]) -> ExitStack:
        """A context that closes connections."""
        stack = ExitStack()
        for client in clients:
            stack.enter_context(client)
        return stack


@contextmanager
def a_peer_port() -> Iterator[PeerPort]:
    port = PeerPort()
    try:
        yield port
    finally:
        port.reception.close()
