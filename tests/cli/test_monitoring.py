"""What becomes of samples when they have come to the server."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tenuto.cli.monitoring import SKEW, UPLOADS, Monitoring
from tenuto.model.series import NODE, Subject
from tenuto.settings import Settings
from tenuto.store.memory import MemoryStore
from tenuto.store.series.base import SeriesQuery
from tenuto.wire.node import Samples
from tenuto.wire.sample import Gap, NodeSample

NAME = "węzeł"


@pytest.fixture
def monitoring(tmp_path: Path) -> Iterator[Monitoring]:
    one = Monitoring(Settings(), tmp_path, MemoryStore())
    yield one
    one.stop()


def told(at: float, *, session: str = "s", sent_at: float | None = None, **fields: object) -> Samples:
    sample = NodeSample(at=at, cpu=12.5)
    return Samples(node=NAME, session=session, samples=(sample,), sent_at=sent_at, **fields)  # type: ignore[arg-type]


def test_samples_and_gaps_go_into_the_history_and_the_newest_is_at_hand(monitoring: Monitoring) -> None:
    now = time.time()
    gap = Gap(since=now - 9, until=now, why="the server was away")

    monitoring.take(told(now, gaps=(gap,)))

    query = SeriesQuery(subject=Subject(NODE, NAME), since=now - 60, until=now + 60)
    found = monitoring.series.read(query)
    assert (list(found.at), list(found.values["cpu"])) == ([now], [12.5])
    assert monitoring.series.gaps(NAME, now - 60, now + 60) == [gap]
    newest = monitoring.latest.of(NAME)
    assert newest is not None
    assert newest.at == now


def test_a_clock_that_is_wrong_is_told_once_and_its_samples_are_kept_as_they_are(
    monitoring: Monitoring, caplog: pytest.LogCaptureFixture
) -> None:
    wrong = time.time() + 10 * SKEW

    for later in (0.0, 1.0, 2.0):
        monitoring.take(told(wrong + later, sent_at=wrong + later))

    assert caplog.text.count("s ahead of ours") == 1
    newest = monitoring.latest.of(NAME)
    assert newest is not None
    assert newest.at == wrong + 2.0


def test_old_samples_of_a_clock_that_is_right_are_no_reason_to_complain(
    monitoring: Monitoring, caplog: pytest.LogCaptureFixture
) -> None:
    monitoring.take(told(time.time() - 3600.0, sent_at=time.time()))

    assert "clock" not in caplog.text


def test_many_nodes_are_asked_to_come_less_often(monitoring: Monitoring) -> None:
    usual = Settings().monitor.upload
    assert monitoring.take(told(1.0)).again == usual

    for number in range(int(3 * usual * UPLOADS)):
        monitoring.latest.take(f"node-{number}", (NodeSample(at=1.0),))

    assert monitoring.take(told(2.0)).again == pytest.approx(3 * usual, rel=0.01)
    assert monitoring.latest.fresh > 3 * usual
