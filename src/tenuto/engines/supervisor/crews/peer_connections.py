"""Limits on the connections to the port on which a supervisor receives the messages of others.

A supervisor sends its message at once, so a slow connection is either broken or an attack. Connections without a valid
secret displace only each other, and those with one, as long as their message is incomplete, only each other: whatever
is open, the newest peer is received.
"""

from __future__ import annotations

import io
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from tenuto.connection_table import ConnectionTable, address_group

if TYPE_CHECKING:
    from typing_extensions import Buffer

HEADER_BYTES = 16 << 10
"""Most bytes that are read of a connection before it has shown a valid secret; a supervisor sends a few hundred."""
HEADER_SECONDS = 5.0
"""Time from the beginning of a connection to the end of its headers."""
BODY_SECONDS = 10.0
"""Time from the end of the headers to the end of the message."""
MAX_CONNECTIONS = 64
"""Most connections without a valid secret, and again with one; each has a thread."""
MAX_PER_ADDRESS = 32
"""Most of these from one address. All nodes of a platform may be on one machine and share its address."""


class LimitedReader(io.RawIOBase):
    """Reads from a socket until a number of bytes or a time is used up; raises TimeoutError then."""

    def __init__(self, connection: socket.socket, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._socket = connection
        self._clock = clock
        self._bytes_left = 0
        self._until = 0.0

    def allow(self, count: int, seconds: float) -> None:
        """Read at most so many more bytes, for so long from now on, whatever was allowed before."""
        self._bytes_left = count
        self._until = self._clock() + seconds

    def readable(self) -> bool:
        """Whether it can be read; it can."""
        return True

    def readinto(self, buffer: Buffer) -> int:
        """Read what has come, or wait for it; returns 0 at the end of the stream."""
        seconds_left = self._until - self._clock()
        if self._bytes_left <= 0 or seconds_left <= 0:
            raise TimeoutError("the message is too large or too slow")
        self._socket.settimeout(seconds_left)
        count = self._socket.recv_into(memoryview(buffer)[: self._bytes_left])
        self._bytes_left -= count
        return count


class PeerConnection:
    """One connection; its thread reads from `stream`."""

    def __init__(self, connection: socket.socket, host: str) -> None:
        self.address: str | None = address_group(host)
        self.is_busy = False
        """Whether its message has come wholly; then it is not closed for another one."""
        self._socket = connection
        self._reader = LimitedReader(connection)
        self._reader.allow(HEADER_BYTES, HEADER_SECONDS)
        self.stream = io.BufferedReader(self._reader)

    def read_message(self, length: int) -> bytes:
        """Read a body of this many bytes; fewer if the peer closes the connection. Raises TimeoutError."""
        self._reader.allow(length, BODY_SECONDS)
        message = self.stream.read(length) if length else b""
        self.is_busy = True
        return message

    def drop(self) -> None:
        """Close it, from another thread: the thread that reads sees the end of the stream."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)


class PeerConnections:
    """All open connections. Thread-safe."""

    def __init__(self, total: int = MAX_CONNECTIONS, per_address: int = MAX_PER_ADDRESS) -> None:
        self._lock = threading.Lock()
        self._strangers = ConnectionTable(total, per_address)
        self._peers = ConnectionTable(total, per_address)
        self._by_socket: dict[socket.socket, PeerConnection] = {}

    def __len__(self) -> int:
        """The number of connections."""
        return len(self._by_socket)

    def open(self, connection: socket.socket, host: str) -> bool:
        """Count a new connection, closing an older one if there are too many; False if none can be closed."""
        added = PeerConnection(connection, host)
        with self._lock:
            self._by_socket[connection] = added
            return self._strangers.admit(added)

    def of(self, connection: socket.socket) -> PeerConnection:
        """The connection that was opened with this socket."""
        return self._by_socket[connection]

    def authenticate(self, connection: PeerConnection) -> bool:
        """Count a connection that has shown a valid secret among the peers; False if there are too many of them."""
        with self._lock:
            self._strangers.remove(connection)
            return self._peers.admit(connection)

    def remove(self, connection: socket.socket) -> None:
        """Forget a connection that ends."""
        with self._lock:
            removed = self._by_socket.pop(connection, None)
            if removed is not None:
                self._strangers.remove(removed)
                self._peers.remove(removed)
