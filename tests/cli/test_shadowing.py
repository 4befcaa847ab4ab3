"""The thread of the shadows: it waits for the first wish, and ends when it is told to."""

from __future__ import annotations

from collections.abc import Iterator
from threading import Event

import pytest

from tenuto.cli.shadowing import Shadowing
from tenuto.forecast.shadow import KEY, Shadow, Shown
from tenuto.store.memory import MemoryStore

GUARD = 20.0
"""Seconds after which a test that waits has hung."""


class Imagined:
    """Runs until it is told to stop."""

    def __init__(self) -> None:
        self.shown = (Shown(Shadow("themis")),)
        self.runs, self.ended = Event(), Event()

    def run(self, stop: Event) -> None:
        self.runs.set()
        stop.wait(GUARD)
        self.ended.set()


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    made = MemoryStore()
    yield made
    made.close()


def test_nothing_is_made_before_the_first_wish(store: MemoryStore) -> None:
    made: list[Imagined] = []

    def make() -> Imagined:
        made.append(Imagined())
        return made[0]

    shadowing = Shadowing(store, make)
    shadowing.start()
    store.write(lambda tx: tx.set_meta("scheduling", {"policy": "fifo"}))
    shadowing.stop()

    assert (made, shadowing.shown, shadowing.hangs_on) == ([], (), False)


def test_after_the_first_wish_it_runs_until_told_to_stop(store: MemoryStore) -> None:
    imagined = Imagined()
    shadowing = Shadowing(store, lambda: imagined)
    shadowing.start()

    store.write(lambda tx: tx.set_meta(KEY, [{"policy": "themis"}]))
    assert imagined.runs.wait(GUARD)
    assert shadowing.shown == imagined.shown
    shadowing.stop()

    assert imagined.ended.is_set()
    assert not shadowing.hangs_on
