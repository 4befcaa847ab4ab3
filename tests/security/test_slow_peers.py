"""Slow connections to the port on which supervisors receive messages of others do not close it for peers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from tests.e2e.platform import eventually
from tests.security.peer_port import PeerPort, a_peer_port

from tenuto.engines.supervisor.crews import peer_connections
from tenuto.engines.supervisor.crews.peer_connections import HEADER_BYTES, MAX_CONNECTIONS

SLOW = MAX_CONNECTIONS + 1
RECEIVED = 204


@pytest.fixture
def port() -> Iterator[PeerPort]:
    with a_peer_port() as opened:
        yield opened


def test_a_peer_is_received_while_slow_strangers_are_connected(port: PeerPort) -> None:
    with port.closed([port.begin_headers() for _ in range(SLOW)]):
        assert port.send() == RECEIVED


def test_a_peer_is_received_while_other_peers_are_slow(port: PeerPort) -> None:
    with port.closed([port.begin_message() for _ in range(SLOW)]):
        assert port.send() == RECEIVED


def test_strangers_do_not_displace_a_peer_that_has_shown_its_secret(port: PeerPort) -> None:
    with port.begin_message() as peer:
        eventually(port.has_peer, "the peer has shown its secret")
        with port.closed([port.begin_headers() for _ in range(2 * SLOW)]):
            assert port.send() == RECEIVED
            peer.send(" " * 998 + "}")

            assert peer.response()[0] == 422, "the message is read wholly, and is none"


def test_headers_that_trickle_have_one_deadline(port: PeerPort, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peer_connections, "HEADER_SECONDS", 0.3)
    with port.begin_headers() as client:
        client.socket.settimeout(0.05)

        def trickle() -> bool:
            client.send("a")
            return client.is_closed()

        eventually(trickle, "the connection is closed", within=3.0)


def test_a_message_that_trickles_has_one_deadline(port: PeerPort, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peer_connections, "BODY_SECONDS", 0.3)
    with port.begin_message() as client:
        client.socket.settimeout(0.05)

        def trickle() -> bool:
            client.send(" ")
            return client.is_closed()

        eventually(trickle, "the connection is closed", within=3.0)


def test_headers_are_read_up_to_a_limit(port: PeerPort) -> None:
    assert port.send(1, X_Short="a" * (HEADER_BYTES // 4)) == RECEIVED
    with pytest.raises(OSError):
        port.send(2, X_Long="a" * HEADER_BYTES)

    assert [port.received.get_nowait().number] == [1]
    assert port.received.empty()
