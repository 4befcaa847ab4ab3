"""Only time in which the server listened counts."""

from __future__ import annotations

import asyncio
import os
import resource
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager

import pytest

from tenuto.engines.listening_clock import (
    BEAT_SECONDS,
    LONGEST_GRACE_SECONDS,
    ListeningClock,
    beat_on_loop,
    queue_length,
)

HANG_SECONDS = 30.0


class Monotonic:
    """A monotonic clock in the hands of the test."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


class Beating:
    """A listening clock that beats on time, or does not."""

    def __init__(self) -> None:
        self.monotonic = Monotonic()
        self.clock = ListeningClock(self.monotonic)

    def listen(self, seconds: float) -> None:
        for _ in range(round(seconds / BEAT_SECONDS)):
            self.monotonic.now += BEAT_SECONDS
            self.clock.beat()

    def stall(self, seconds: float) -> None:
        self.monotonic.now += seconds
        self.clock.beat()

    @property
    def reading(self) -> float:
        return self.clock.read()


def test_time_with_regular_beats_counts() -> None:
    here = Beating()
    here.listen(20.0)

    assert here.reading == pytest.approx(20.0)


def test_a_beat_that_is_a_little_late_still_counts() -> None:
    here = Beating()
    here.stall(0.8)

    assert here.reading == pytest.approx(0.8)


def test_without_beats_the_clock_stands_still() -> None:
    here = Beating()
    here.listen(5.0)
    here.monotonic.now += 3600.0

    assert here.reading == pytest.approx(5.0)


@pytest.mark.parametrize(("stalled", "grace"), [(2.0, 2.0), (29.0, LONGEST_GRACE_SECONDS)])
def test_after_a_stall_others_have_time_to_be_heard_before_anything_counts(
    stalled: float, grace: float
) -> None:
    here = Beating()
    here.listen(5.0)
    here.stall(stalled)
    here.listen(grace)
    assert here.reading == pytest.approx(5.0)

    here.listen(3.0)

    assert here.reading == pytest.approx(8.0)


def test_a_clock_that_is_beaten_by_a_deaf_server_stands_still() -> None:
    here = Beating()
    here.listen(5.0)
    for _ in range(100):
        here.monotonic.now += BEAT_SECONDS
        here.clock.beat(able=False)

    assert here.reading == pytest.approx(5.0)


def test_repeated_stalls_delay_the_clock_and_do_not_stop_it() -> None:
    here = Beating()
    for _ in range(10):
        here.stall(2.0)
        here.listen(3.0)

    assert here.reading == pytest.approx(10.0)


# on a real event loop


@contextmanager
def a_listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield listener


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(HANG_SECONDS):
        while not condition():
            await asyncio.sleep(0.01)


def test_a_blocked_event_loop_adds_nothing() -> None:
    async def story() -> tuple[float, float]:
        with a_listener() as listener:
            clock = ListeningClock()
            task = asyncio.create_task(beat_on_loop(clock, [listener]))
            await until(lambda: clock.read() > 0.0)
            before = clock.read()
            time.sleep(1.5)
            await asyncio.sleep(0)  # the late beat
            await asyncio.sleep(0)
            during = clock.read()
            await until(lambda: clock.read() > during)
            task.cancel()
            return before, during

    before, during = asyncio.run(story())

    assert during == before


def test_connections_that_are_not_accepted_stop_the_clock_until_they_are() -> None:
    async def story() -> None:
        with a_listener() as listener, ExitStack() as clients:
            monotonic = Monotonic()
            clock = ListeningClock(monotonic)
            clients.enter_context(socket.create_connection(listener.getsockname()))
            assert queue_length(listener) == 1
            task = asyncio.create_task(beat_on_loop(clock, [listener]))
            for _ in range(3):
                monotonic.now += BEAT_SECONDS
                await asyncio.sleep(1.5 * BEAT_SECONDS)
            assert clock.read() == 0.0

            listener.accept()[0].close()
            async with asyncio.timeout(HANG_SECONDS):
                while clock.read() == 0.0:
                    monotonic.now += BEAT_SECONDS
                    await asyncio.sleep(BEAT_SECONDS)
            task.cancel()

    asyncio.run(story())


def test_a_server_without_free_file_descriptors_does_not_listen() -> None:
    async def story() -> None:
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        with a_listener() as listener:
            monotonic = Monotonic()
            clock = ListeningClock(monotonic)
            task = asyncio.create_task(beat_on_loop(clock, [listener]))
            await asyncio.sleep(0)
            lowest_free = os.dup(0)
            os.close(lowest_free)
            resource.setrlimit(resource.RLIMIT_NOFILE, (lowest_free, hard))
            try:
                for _ in range(3):
                    monotonic.now += BEAT_SECONDS
                    await asyncio.sleep(1.5 * BEAT_SECONDS)
                assert clock.read() == 0.0
            finally:
                resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
            task.cancel()

    asyncio.run(story())
