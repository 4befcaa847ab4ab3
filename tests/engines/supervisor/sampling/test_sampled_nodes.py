"""A real supervisor and a real sampler: whatever is killed or away, samples come, or it is told why they do not."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from tests.engines.supervisor.node import HANG, Node, an_order
from tests.engines.supervisor.sampling.watched import (
    PERIOD,
    SETTINGS,
    SampledDesk,
    SampledNode,
    a_sampled_node,
)

from tenuto.engines.supervisor.sampling.minder import HUNG, OFF
from tenuto.settings import Monitor
from tenuto.store.database import sqlite_database
from tenuto.store.series.memory import MemorySeries
from tenuto.store.series.sql import Manner, SqlSeries
from tenuto.wire.node import Sampled, Samples


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[SampledDesk, Node, SampledNode]]:
    with a_sampled_node(tmp_path_factory.mktemp("표본")) as all_three:
        yield all_three


@pytest.fixture
def desk(shared: tuple[SampledDesk, Node, SampledNode]) -> Iterator[SampledDesk]:
    """The server, with a history that begins with the story."""
    desk, node, _ = shared
    desk.series = MemorySeries()
    node.come_back()
    yield desk
    node.come_back()
    desk.want()
    desk.until(lambda: not desk.engine.observe().workers)


@pytest.fixture
def node(shared: tuple[SampledDesk, Node, SampledNode]) -> Node:
    return shared[1]


@pytest.fixture
def seen(shared: tuple[SampledDesk, Node, SampledNode]) -> SampledNode:
    return shared[2]


def test_a_node_is_sampled_once_whether_or_not_jobs_run_there(desk: SampledDesk, seen: SampledNode) -> None:
    desk.until_sampled()
    alone = seen.sampler()
    orders = [an_order(slot=0), an_order(slot=1)]
    desk.want(*orders)
    for order in orders:
        desk.until_running(order)

    desk.until_sampled()

    assert seen.samplers() == [alone]
    assert psutil.Process(alone).nice() > 0


def test_a_sampler_that_is_killed_comes_back_and_the_gap_is_told(
    desk: SampledDesk, seen: SampledNode
) -> None:
    order = an_order()
    desk.want(order)
    worker = desk.until_running(order).pid
    desk.until_sampled()

    os.kill(seen.sampler(), signal.SIGKILL)

    (gap,) = desk.until(desk.gaps)
    assert gap.why == "the sampler was killed by SIGKILL"
    assert {gap.since, gap.until} <= set(desk.moments())
    assert not [at for at in desk.moments() if gap.since < at < gap.until]
    assert desk.until_running(order).pid == worker


def test_a_sampler_that_hangs_is_replaced_and_the_gap_is_told(desk: SampledDesk, seen: SampledNode) -> None:
    desk.until_sampled()

    hung = seen.stop()

    (gap,) = desk.until(desk.gaps)
    assert gap.why == HUNG
    assert not psutil.pid_exists(hung)
    desk.until_sampled()


def test_a_server_that_was_away_has_every_sample_afterwards(desk: SampledDesk, node: Node) -> None:
    desk.until_sampled()
    # On a machine that has much to do, a sampler takes its time; then the server is away for longer.
    for periods in (5, 50, 200):
        away, back = be_away(desk, node, periods * PERIOD)
        desk.until(lambda: max(desk.moments()) > back)  # noqa: B023
        missed = [at for at in desk.moments() if away < at < back]
        if missed:
            break

    assert missed
    assert desk.gaps() == []
    assert len(desk.moments()) == len(set(desk.moments()))


def be_away(desk: SampledDesk, node: Node, seconds: float) -> tuple[float, float]:
    """Have no server for a while; returns from when to when."""
    desk.down()
    away = time.time()
    threading.Event().wait(seconds)  # nobody tells anybody anything meanwhile
    back = time.time()
    desk.up()
    node.write_url()
    return away, back


def test_a_server_that_was_killed_before_it_wrote_samples_down_gets_them_again(
    desk: SampledDesk, node: Node, tmp_path: Path
) -> None:
    file = tmp_path / "역사.db"
    desk.series = first = a_history(file)
    desk.until_sampled()
    first.flush()  # some are written down, and those that come now are not
    desk.until_sampled()
    told = desk.moments()
    desk.down()
    first.database.dispose()

    desk.series = second = a_history(file)
    assert set(desk.moments()) < set(told)
    desk.up()
    node.write_url()

    desk.until(lambda: set(told) < set(desk.moments()))
    assert desk.gaps() == []
    desk.series = MemorySeries()
    second.close()


def a_history(file: Path) -> SqlSeries:
    """On disk, and nothing is written unless somebody says so."""
    return SqlSeries(sqlite_database(file), Manner(every=0.0))


def test_a_history_that_takes_nothing_in_delays_nobody(
    desk: SampledDesk, node: Node, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, go_on = threading.Event(), threading.Event()

    def stuck(_: Samples) -> Sampled:
        asked.set()
        go_on.wait(2 * HANG)
        return Sampled(kept=None)

    with monkeypatch.context() as patch:
        patch.setattr(desk, "take", stuck)
        assert asked.wait(HANG)
        order = an_order()
        desk.want(order)
        desk.until_running(order)
        desk.want()
        desk.until_forgotten(order)
        assert node.terminate() == 0
        go_on.set()


def test_a_supervisor_that_is_killed_leaves_no_sampler_and_the_next_one_has_one(
    desk: SampledDesk, node: Node, seen: SampledNode
) -> None:
    order = an_order()
    desk.want(order)
    desk.until_running(order)
    first = seen.sampler()

    node.kill()
    desk.until(lambda: not psutil.pid_exists(first))
    assert seen.samplers() == []
    node.come_back()

    desk.until_sampled()
    assert seen.sampler() != first


def test_a_new_server_changes_the_period_or_wants_no_samples_at_all(
    desk: SampledDesk, node: Node, seen: SampledNode
) -> None:
    desk.until_sampled()
    sampler = seen.sampler()

    for monitor in (Monitor(period=0.05, upload=0.05), Monitor(period=0.0)):
        desk.down()
        desk.settings = replace(SETTINGS, monitor=monitor)
        desk.up()
        node.write_url()
        if monitor.period:
            desk.until_sampled(5)
            assert seen.sampler() == sampler
    desk.until(lambda: not seen.samplers())

    desk.down()
    desk.settings = SETTINGS
    desk.up()
    node.write_url()
    assert [gap.why for gap in desk.until(desk.gaps)] == [OFF]
