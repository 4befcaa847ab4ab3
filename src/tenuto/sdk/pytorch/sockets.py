"""The connections of a group, so that they can be cut at any moment from any thread.

gloo offers no way to give up an operation that waits for a dead or silent peer, and lets go of a connection only when
the whole group is destroyed, tens of milliseconds later. Its sockets can be shut down at once: whoever waits on either
end fails at that moment. They are found by comparing what the process had open before with what it has now, and told
from what other threads of the program opened meanwhile by their ports.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading
from collections.abc import Callable, Iterable, Iterator

_OPEN = "/proc/self/fd"


class Window:
    """What this process opens while the block runs."""

    def __init__(self) -> None:
        self.opened: frozenset[int] = frozenset()
        """Descriptors. Some are those of other threads, which may close them at any time."""

    def __enter__(self) -> Window:
        self._before = _sockets()
        return self

    def __exit__(self, *_: object) -> None:
        self.opened = _sockets() - self._before

    def listening(self) -> frozenset[int]:
        """The ports at which something listens that was opened here."""
        return frozenset(
            _port(found.getsockname)
            for descriptor in self.opened
            for found in _look_at(descriptor)
            if found.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN)
        )


class Sockets:
    """Connections that belong together."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._held: list[socket.socket] = []
        self._is_cut = False

    @property
    def is_cut(self) -> bool:
        """Whether they were given up."""
        return self._is_cut

    def hold(self, window: Window, *, here: Iterable[int] = (), there: Iterable[int] = ()) -> None:
        """Take the connections that end at one of these ports, on this side or on the other one.

        Only those are duplicated, so that nobody else can close and use their descriptors again: a duplicate keeps a
        connection in its owner's epoll set, and not every owner could bear that.
        """
        ours, theirs = frozenset(here), frozenset(there)
        with self._lock:
            for descriptor in window.opened:
                for found in _look_at(descriptor):
                    peer = _port(found.getpeername)
                    if peer and (peer in theirs or _port(found.getsockname) in ours):
                        # not found.dup(), which makes the connection a blocking one for its owner too
                        self._held.append(socket.socket(fileno=os.dup(descriptor)))
            if self._is_cut:
                self._shut()

    def cut(self) -> None:
        """Give them up, and whatever will be taken."""
        with self._lock:
            self._is_cut = True
            self._shut()

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


def _look_at(descriptor: int) -> Iterator[socket.socket]:
    """It as a socket, for a moment; nothing if it is none of TCP, or gone."""
    with contextlib.suppress(OSError):
        found = socket.socket(fileno=descriptor)
        try:
            if found.family in (socket.AF_INET, socket.AF_INET6) and found.type == socket.SOCK_STREAM:
                yield found
        finally:
            found.detach()


def _port(name: Callable[[], tuple[str, int]]) -> int:
    """0 for a connection that is no more."""
    try:
        return name()[1]
    except OSError:
        return 0
