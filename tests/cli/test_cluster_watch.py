"""The history of the whole cluster: a point now and then, whatever happens in between."""

from __future__ import annotations

import threading
from itertools import count

import pytest

from tenuto.cli.cluster_watch import ClusterWatch
from tenuto.model.series import Subject
from tenuto.monitor.facts import Facts
from tenuto.store.base import StoreUnavailable
from tenuto.store.series.base import SeriesQuery
from tenuto.store.series.memory import MemorySeries

HANGS = 60.0


def test_a_look_that_fails_leaves_a_gap_and_the_next_one_a_point(caplog: pytest.LogCaptureFixture) -> None:
    series, moments, enough = MemorySeries(), count(1), threading.Event()

    def look() -> Facts:
        moment = next(moments)
        if moment == 2:
            raise StoreUnavailable("the disk is full")
        if moment == 3:
            raise ValueError("ours")
        if moment > 5:
            enough.set()
        return Facts(at=float(moment), queue=moment)

    watch = ClusterWatch(look, series, every=0.0)
    watch.start()
    assert enough.wait(HANGS)
    watch.stop()

    found = series.read(SeriesQuery(subject=Subject("cluster"), since=0.0, until=6.0))
    assert (list(found.at), list(found.values["queue"])) == ([1.0, 4.0, 5.0], [1.0, 4.0, 5.0])
    assert "the disk is full" in caplog.text and "this is a fault of tenuto" in caplog.text


def test_one_that_was_never_begun_ends_at_once() -> None:
    ClusterWatch(lambda: Facts(at=0.0), MemorySeries()).stop()
