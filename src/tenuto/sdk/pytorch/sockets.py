"""The connections of a group, so that they can be cut at any moment from any thread.

gloo offers no way to give up an operation that waits for a dead or silent peer, and lets go of a connection only when
the whole group is destroyed, tens of milliseconds later. Its sockets can be shut down at once: whoever waits on either
end fails at that moment. They are found by comparing what the process had open before with what it has now.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Iterator

_OPEN = "/proc/self/fd"


class Sockets:
    """Connections that belong together."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: list[socket.socket] = []
        self._before: frozenset[int] | None = None
        self._is_cut = False

    @property
    def is_cut(self) -> bool:
        """Whether they were given up."""
        return self._is_cut

    @contextlib.contextmanager
    def opening(self) -> Iterator[None]:
        """Every connection that this thread opens meanwhile is one of them."""
        with self._lock:
            self._before = _sockets()
        try:
            yield
        finally:
            with self._lock:
                found = _connections(_sockets() - self._before)
                self._before = None
                self._held += found
                if self._is_cut:
                    self._shut()

    def cut(self) -> None:
        """Give them up, also those that are only being opened."""
        with self._lock:
            self._is_cut = True
            if self._before is not None:
                self._held += _connections(_sockets() - self._before)
            self._shut()

    def close(self) -> None:
        """Cut, and keep nothing open."""
        self.cut()

    def _shut(self) -> None:
        for connection in self._held:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)
            connection.close()
        self._held = []


def _sockets() -> frozenset[int]:
    found = set()
    for name in os.listdir(_OPEN):  # noqa: PTH208 - a dozen paths would be made for nothing
        with contextlib.suppress(OSError):
            if os.readlink(f"{_OPEN}/{name}").startswith("socket:"):  # noqa: PTH115
                found.add(int(name))
    return frozenset(found)


def _connections(descriptors: frozenset[int]) -> list[socket.socket]:
    """Those that are connected to a peer, under descriptors of our own, which nobody else can close and use again."""
    found = []
    for descriptor in descriptors:
        with contextlib.suppress(OSError):
            connection = socket.socket(fileno=os.dup(descriptor))
            try:
                connection.getpeername()
            except OSError:
                connection.close()
            else:
                found.append(connection)
    return found
