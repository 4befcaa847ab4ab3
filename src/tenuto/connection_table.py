"""Which connections are open, and which are closed to make room for others.

A client that sends its request at once is authenticated within milliseconds. So a full table does not refuse the
newcomer: it closes the oldest connection that has neither a valid token nor a complete request. Connections that a
client opens and leaves open thereby displace each other, and no other client's.
"""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv6Address, ip_address, ip_network
from typing import Protocol

_CLIENT_PREFIX_BITS = 64
"""One subscriber of IPv6 commands at least so large a network, so its addresses are counted together."""


class Connection(Protocol):
    """What the table must know of a connection; compared by identity."""

    @property
    def address(self) -> str | None:
        """The key under which it is counted; None for a proxy, which is exempt."""
        ...

    @property
    def is_busy(self) -> bool:
        """Whether a complete request on it is being answered."""
        ...

    def drop(self) -> None:
        """Close it at once."""
        ...


class ConnectionTable:
    """All open connections, and those of each address on which no valid token has come yet. Not thread-safe."""

    def __init__(self, total: int, per_address: int) -> None:
        self._total = total
        self._per_address = per_address
        self._open: dict[Connection, None] = {}
        self._unauthenticated: dict[Connection, None] = {}
        self._by_address: dict[str, dict[Connection, None]] = {}

    def __len__(self) -> int:
        """The number of open connections."""
        return len(self._open)

    def __iter__(self) -> Iterator[Connection]:
        """Walk a copy, oldest first: connections may be removed meanwhile."""
        return iter(tuple(self._open))

    def unauthenticated(self, address: str) -> int:
        """The number of connections of an address on which no valid token has come yet."""
        return len(self._by_address.get(address, ()))

    def admit(self, connection: Connection) -> bool:
        """Add a new connection, closing another one if there is no room; False if there is none to close."""
        address = connection.address
        if address is not None:
            same_address = self._by_address.get(address, {})
            if len(same_address) >= self._per_address and not self._displace(same_address):
                return False
        if len(self._open) >= self._total and not self._displace(self._unauthenticated):
            return False
        self._open[connection] = None
        if address is not None:
            self._unauthenticated[connection] = None
            self._by_address.setdefault(address, {})[connection] = None
        return True

    def authenticate(self, connection: Connection) -> None:
        """Stop counting a connection for its address."""
        self._unauthenticated.pop(connection, None)
        address = connection.address
        if address is not None and (same_address := self._by_address.get(address)) is not None:
            same_address.pop(connection, None)
            if not same_address:
                del self._by_address[address]

    def remove(self, connection: Connection) -> None:
        """Forget a connection that is closed; one that is not here is ignored."""
        self._open.pop(connection, None)
        self.authenticate(connection)

    def _displace(self, candidates: dict[Connection, None]) -> bool:
        oldest = next((connection for connection in candidates if not connection.is_busy), None)
        if oldest is None:
            return False
        self.remove(oldest)
        oldest.drop()
        return True


def address_group(host: str) -> str:
    """The key under which connections of an address are counted: an IPv4 address or an IPv6 network of 64 bits."""
    try:
        address = ip_address(host)
    except ValueError:
        return host
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return str(address.ipv4_mapped)
        return str(ip_network((int(address), _CLIENT_PREFIX_BITS), strict=False))
    return host
