"""The newest sample of each node is one that tells how it is now, or there is none."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tenuto.monitor.latest import FAREWELL, SET_BACK, LatestSamples
from tenuto.wire.sample import NodeSample

NODE = "노드"


def samples(*moments: float) -> list[NodeSample]:
    return [NodeSample(at=at) for at in moments]


def newest(latest: LatestSamples) -> float | None:
    sample = latest.of(NODE)
    assert (sample is None) == (NODE not in latest.all())
    return None if sample is None else sample.at


def test_samples_that_are_told_again_do_not_count_as_newest() -> None:
    latest = LatestSamples()
    latest.take(NODE, samples(1.0, 2.0, 3.0))

    latest.take(NODE, samples(1.0, 2.0))

    assert newest(latest) == 3.0


def test_a_node_whose_clock_was_set_back_is_seen_as_it_is_now() -> None:
    latest = LatestSamples()
    latest.take(NODE, samples(1e6))

    latest.take(NODE, samples(1e6 - SET_BACK))

    assert newest(latest) == 1e6 - SET_BACK


def test_a_node_that_tells_nothing_more_has_no_newest_sample() -> None:
    now = 0.0
    latest = LatestSamples(15.0, lambda: now)
    latest.take(NODE, samples(1e9))

    now = 14.0
    assert (newest(latest), len(latest)) == (1e9, 1)
    now = 15.0
    assert (newest(latest), len(latest)) == (None, 0)
    latest.take(NODE, samples(1e9 + 20))
    assert newest(latest) == 1e9 + 20


def test_a_node_that_was_removed_is_forgotten_until_it_joins_anew() -> None:
    now = 0.0
    latest = LatestSamples(clock=lambda: now)
    latest.take(NODE, samples(1.0))

    latest.forget(NODE)
    assert newest(latest) is None
    latest.take(NODE, samples(2.0))
    assert newest(latest) is None, "that was on its way when the node went"

    now = FAREWELL
    latest.take(NODE, samples(3.0))
    assert newest(latest) == 3.0


def test_a_listener_that_breaks_keeps_no_other_from_hearing(caplog: pytest.LogCaptureFixture) -> None:
    heard: list[float] = []

    def breaks(node: str, _: Sequence[NodeSample]) -> None:
        raise ValueError(node)

    latest = LatestSamples()
    latest.listen(breaks)
    end = latest.listen(lambda _, told: heard.extend(one.at for one in told))
    latest.take(NODE, samples(1.0))
    end()
    latest.take(NODE, samples(2.0))

    assert heard == [1.0]
    assert NODE in caplog.text
