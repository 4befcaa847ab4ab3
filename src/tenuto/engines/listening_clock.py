"""A clock that counts only the seconds during which this process could hear others.

A node that cannot be heard because the server does not listen is not silent. Whatever keeps the server from
listening (a halted process, a sleeping machine, a blocked event loop, a starved interpreter, connections that cannot
be accepted), the beats of this clock are late or say so, and that time is not counted. Silence is measured by this
clock alone, so none of these causes needs a case of its own.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
import struct
from collections.abc import Callable, Iterable
from threading import Event
from time import monotonic

log = logging.getLogger(__name__)

BEAT_SECONDS = 0.25
"""Between two beats."""
LATE_SECONDS = 1.0
"""A longer time between two beats is not counted."""
LONGEST_GRACE_SECONDS = 10.0
"""After a pause nothing is counted for as long as the pause lasted, but at most for this long: requests that failed
during the pause are repeated within this time (a supervisor's connection attempt and its back-off, 5 s each)."""
SERVED_QUEUE_LOOKS = 10
"""How often a beat looks for an empty accept queue before it concludes that the queue is not served."""
SERVED_QUEUE_PAUSE_SECONDS = 0.01
_TCP_INFO_QUEUE = struct.Struct("24xI")
"""`tcpi_unacked` of Linux's `struct tcp_info`: for a listening socket, the connections that wait to be accepted."""


class ListeningClock:
    """Advances with every timely `beat`. One thread beats; any thread may read."""

    def __init__(self, monotonic_clock: Callable[[], float] = monotonic) -> None:
        self._monotonic = monotonic_clock
        self._last = monotonic_clock()
        self._reading = 0.0
        self._paused = 0.0
        self._grace = 0.0

    def read(self) -> float:
        """Seconds of listening so far."""
        return self._reading

    def beat(self, *, able: bool = True) -> None:
        """Count the time since the last beat, unless the beat is late or nothing could be heard (`able=False`)."""
        now = self._monotonic()
        elapsed, self._last = now - self._last, now
        if not able or elapsed > LATE_SECONDS:
            self._paused += elapsed
            return
        if self._paused:
            self._end_pause()
        spared = min(elapsed, self._grace)
        self._grace -= spared
        self._reading += elapsed - spared

    def _end_pause(self) -> None:
        log.warning("did not listen for %.1f s; this time does not count as silence of others", self._paused)
        self._grace = max(self._grace, min(self._paused, LONGEST_GRACE_SECONDS))
        self._paused = 0.0


async def beat_on_loop(clock: ListeningClock, sockets: Iterable[socket.socket]) -> None:
    """Beat on the running event loop for as long as these sockets are served. Ends when it is cancelled."""
    listening = tuple(sockets)
    while True:
        clock.beat(able=await _can_accept(listening))
        await asyncio.sleep(BEAT_SECONDS)


def beat_in_thread(clock: ListeningClock, ended: Event) -> None:
    """Beat until `ended` is set."""
    while not ended.wait(BEAT_SECONDS):
        clock.beat()


async def _can_accept(sockets: tuple[socket.socket, ...]) -> bool:
    """Whether new connections can be accepted: a file descriptor is free, and no accept queue stays filled."""
    if not _has_free_descriptor():
        return False
    for _ in range(SERVED_QUEUE_LOOKS):
        if not any(map(queue_length, sockets)):
            return True
        await asyncio.sleep(SERVED_QUEUE_PAUSE_SECONDS)
    return False


def queue_length(listening: socket.socket) -> int:
    """Number of connections that wait to be accepted; 0 where the system does not say."""
    if listening.family not in (socket.AF_INET, socket.AF_INET6):
        return 0
    try:
        info = listening.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TCP_INFO_QUEUE.size)
        (length,) = _TCP_INFO_QUEUE.unpack(info)
    except (OSError, AttributeError, struct.error):
        return 0
    return int(length)


def _has_free_descriptor() -> bool:
    try:
        descriptor = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    os.close(descriptor)
    return True
