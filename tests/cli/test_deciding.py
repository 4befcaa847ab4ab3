"""The controller's thread: it is begun again when it dies, and whoever asks is told."""

from __future__ import annotations

from threading import Event

import pytest
from tests.e2e.platform import eventually

from tenuto.cli import deciding
from tenuto.cli.deciding import Deciding
from tenuto.store.memory import MemoryStore


class Mortal:
    """A controller that dies until told otherwise."""

    def __init__(self) -> None:
        self.lives = 0
        self.healed = False

    def run(self, stop: Event) -> None:
        self.lives += 1
        if not self.healed:
            raise (ZeroDivisionError, SystemExit)[self.lives % 2]("oops")
        stop.wait()


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deciding, "FIRST_PAUSE", 0.01)


def test_a_controller_that_dies_is_followed_by_another_and_trouble_is_told(
    caplog: pytest.LogCaptureFixture,
) -> None:
    store, mortal = MemoryStore(), Mortal()
    thread = Deciding(store, lambda: mortal)
    thread.start()
    try:
        eventually(lambda: mortal.lives >= 3, "it has died twice")
        assert store.read(lambda tx: tx.meta("controller"))["state"] == "stopped"
        assert "oops" in caplog.text

        mortal.healed = True
        eventually(lambda: thread.trouble == "", "it decides")
    finally:
        thread.stop()
    assert not thread.hangs_on


def test_one_who_does_not_listen_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deciding, "LONGEST_TICK", 0.05)
    compiled = Event()

    class Compiling:
        def run(self, stop: Event) -> None:
            compiled.wait()

    thread = Deciding(MemoryStore(), Compiling)
    thread.start()
    thread.stop()

    assert thread.hangs_on
    compiled.set()
    eventually(lambda: not thread.hangs_on, "it has ended")
