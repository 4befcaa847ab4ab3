"""Which connections are closed to make room for others."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tenuto.connection_table import ConnectionTable, address_group


@dataclass(eq=False)
class Client:
    address: str | None = "192.0.2.1"
    is_busy: bool = False
    dropped: bool = False

    def drop(self) -> None:
        self.dropped = True


def a_table(*clients: Client, total: int = 10, per_address: int = 2) -> ConnectionTable:
    table = ConnectionTable(total, per_address)
    for client in clients:
        assert table.admit(client)
    return table


def test_the_oldest_of_an_address_makes_room_for_a_newcomer() -> None:
    first, second, third = Client(), Client(), Client()
    table = a_table(first, second)

    assert table.admit(third)

    assert [client.dropped for client in (first, second, third)] == [True, False, False]
    assert len(table) == 2


def test_addresses_do_not_displace_each_other() -> None:
    first, second = Client(), Client()
    table = a_table(first, second)

    assert table.admit(Client("192.0.2.2"))

    assert not first.dropped
    assert not second.dropped


def test_what_is_being_answered_is_not_displaced() -> None:
    busy, idle = Client(is_busy=True), Client()
    table = a_table(busy, idle)

    assert table.admit(Client(is_busy=True))
    assert idle.dropped
    assert not busy.dropped
    assert not table.admit(Client())


def test_an_authenticated_connection_does_not_count_for_its_address() -> None:
    known, stranger = Client(), Client()
    table = a_table(known, stranger)
    table.authenticate(known)

    assert table.unauthenticated("192.0.2.1") == 1
    assert table.admit(Client())
    assert table.admit(Client())
    assert stranger.dropped
    assert not known.dropped


def test_a_proxy_counts_for_the_total_only() -> None:
    proxies = [Client(None) for _ in range(10)]
    table = a_table(*proxies)

    assert not table.admit(Client())
    assert not any(proxy.dropped for proxy in proxies)


def test_a_full_server_closes_the_oldest_stranger() -> None:
    strangers = [Client(f"192.0.2.{number}") for number in range(10)]
    table = a_table(*strangers)
    table.authenticate(strangers[0])

    assert table.admit(Client("192.0.2.77"))

    assert [number for number, stranger in enumerate(strangers) if stranger.dropped] == [1]


def test_nothing_is_left_of_closed_connections() -> None:
    client = Client()
    table = a_table(client)

    table.remove(client)
    table.remove(client)

    assert len(table) == 0
    assert table.unauthenticated("192.0.2.1") == 0
    assert table._by_address == {}


@pytest.mark.parametrize(
    ("one", "other", "together"),
    [
        ("192.0.2.1", "192.0.2.2", False),
        ("2001:db8::1", "2001:db8::ffff:1", True),
        ("2001:db8::1", "2001:db8:0:1::1", False),
        ("::ffff:192.0.2.1", "192.0.2.1", True),
        ("no address", "no address", True),
    ],
)
def test_addresses_of_one_subscriber_are_counted_together(one: str, other: str, together: bool) -> None:
    assert (address_group(one) == address_group(other)) == together
