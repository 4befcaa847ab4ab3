"""Old numbers go by themselves, whatever the history says to it."""

from __future__ import annotations

import threading

import pytest

from tenuto.cli import thinning
from tenuto.cli.thinning import Thinning
from tenuto.settings import Monitor
from tenuto.store.base import StoreUnavailable
from tenuto.store.series.memory import MemorySeries

HANG = 60.0


class Reluctant(MemorySeries):
    """Refuses, then fails, then obeys."""

    def __init__(self) -> None:
        super().__init__()
        self.obeyed = threading.Event()
        self._answers = iter([StoreUnavailable("The disk is full", remedy="Make room"), OSError("what?")])

    def prune(self, now: float) -> int:
        for problem in self._answers:
            raise problem
        self.obeyed.set()
        return super().prune(now)


def test_a_history_that_refuses_is_asked_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(thinning, "_LEAST", 0.01)
    monkeypatch.setattr(thinning, "_EVERY", 0.01)
    series = Reluctant()
    thinner = Thinning(series, Monitor())
    thinner.start()
    assert series.obeyed.wait(HANG)
    thinner.stop()
    assert "The disk is full" in caplog.text
    assert "what?" in caplog.text


@pytest.mark.parametrize(("raw", "every"), [(86_400.0, 600.0), (600.0, 60.0), (0.0, 5.0)])
def test_what_is_kept_for_a_short_time_is_looked_through_more_often(raw: float, every: float) -> None:
    assert Thinning(MemorySeries(), Monitor(raw=raw)).every == every
