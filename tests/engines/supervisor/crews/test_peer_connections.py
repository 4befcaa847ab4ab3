"""Which connections are closed when there are too many, and how much is read of each."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tenuto.engines.supervisor.crews.peer_connections import LimitedReader, PeerConnections

HERE, THERE, ELSEWHERE = "10.0.0.1", "10.0.0.2", "10.0.0.3"


class Callers:
    """Opens connections, and knows which of them are still open."""

    def __init__(self, total: int, per_address: int) -> None:
        self.connections = PeerConnections(total, per_address)
        self.stack = ExitStack()
        self.remote: dict[socket.socket, socket.socket] = {}

    def call(self, host: str) -> socket.socket:
        """A new connection from an address; returns the end of the supervisor."""
        far, near = socket.socketpair()
        for end in (far, near):
            self.stack.enter_context(end)
        far.setblocking(False)
        self.remote[near] = far
        assert self.connections.open(near, host)
        return near

    def is_open(self, connection: socket.socket) -> bool:
        try:
            return self.remote[connection].recv(1) != b""
        except BlockingIOError:
            return True

    def authenticate(self, connection: socket.socket) -> bool:
        return self.connections.authenticate(self.connections.of(connection))


@pytest.fixture
def callers() -> Iterator[Callers]:
    made = Callers(total=3, per_address=2)
    yield made
    made.stack.close()


def test_the_oldest_of_an_address_makes_room_for_its_newest(callers: Callers) -> None:
    other = callers.call(THERE)
    first, second, third = (callers.call(HERE) for _ in range(3))

    assert [callers.is_open(each) for each in (other, first, second, third)] == [True, False, True, True]


def test_the_oldest_of_all_makes_room_if_addresses_are_many(callers: Callers) -> None:
    first, *others = (callers.call(host) for host in (HERE, THERE, ELSEWHERE, "10.0.0.4"))

    assert not callers.is_open(first)
    assert all(callers.is_open(each) for each in others)


def test_peers_make_room_for_peers_only_and_whole_messages_for_none(callers: Callers) -> None:
    whole, slow = callers.call(HERE), callers.call(HERE)
    assert callers.authenticate(whole) and callers.authenticate(slow)
    callers.connections.of(whole).read_message(0)

    for _ in range(5):
        callers.call(HERE)
    assert callers.is_open(whole) and callers.is_open(slow)

    newest = callers.call(HERE)
    assert callers.authenticate(newest)
    assert [callers.is_open(each) for each in (whole, slow, newest)] == [True, False, True]


def test_a_peer_is_refused_if_all_others_are_whole(callers: Callers) -> None:
    for _ in range(2):
        whole = callers.call(HERE)
        assert callers.authenticate(whole)
        callers.connections.of(whole).read_message(0)

    assert not callers.authenticate(callers.call(HERE))


def test_connections_that_have_ended_are_forgotten(callers: Callers) -> None:
    for _ in range(10):
        ended = callers.call(HERE)
        callers.authenticate(ended)
        callers.connections.remove(ended)

    assert len(callers.connections) == 0


def test_bytes_and_time_are_limited_as_a_whole() -> None:
    far, near = socket.socketpair()
    now = 0.0
    with far, near:
        reader = LimitedReader(near, lambda: now)
        reader.allow(6, seconds=2.0)
        far.sendall(b"12345678")
        assert (reader.read(4), reader.read(4)) == (b"1234", b"56")
        with pytest.raises(TimeoutError):
            reader.read(1)

        reader.allow(6, seconds=2.0)
        now = 2.0
        with pytest.raises(TimeoutError):
            reader.read(1)
