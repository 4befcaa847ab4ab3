"""A node that is sampled: a real supervisor with a real sampler, and a server that keeps what they tell in memory."""

from __future__ import annotations

import math
import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
from fastapi import FastAPI
from tests.engines.authority import OpenAuthority
from tests.engines.supervisor.node import NODE, TOKEN, Desk, Node, a_node

from tenuto.engines.node_api import node_router
from tenuto.engines.supervisor.sampling.minder import LATE
from tenuto.model.series import NODE as NODES
from tenuto.model.series import Subject
from tenuto.monitor.columns import points_of
from tenuto.settings import Monitor, Nodes, Settings
from tenuto.store.series.base import SeriesQuery, SeriesStore
from tenuto.store.series.memory import MemorySeries
from tenuto.wire.node import Sampled, Samples
from tenuto.wire.sample import Gap

PERIOD = 0.1
SETTINGS = Settings(nodes=Nodes(heartbeat=0.5, dead_man=None), monitor=Monitor(period=PERIOD, upload=PERIOD))


class SampledDesk(Desk):
    """A server that has a history of numbers, which is exchanged for an empty one at will."""

    def __init__(self, settings: Settings = SETTINGS) -> None:
        super().__init__(settings)
        self.series: SeriesStore = MemorySeries()

    def make_app(self) -> FastAPI:
        app = FastAPI()
        app.include_router(
            node_router(self.engine, self.logs, OpenAuthority(TOKEN), self.settings, samples=self)
        )
        return app

    def take(self, told: Samples) -> Sampled:
        """Have what a node's sampler has seen."""
        self.series.add(points_of(told.node, told.samples))
        self.series.add_gaps(told.node, told.gaps)
        self.ring()
        kept = self.series.kept(NODES, told.node)
        return Sampled(kept=kept if math.isfinite(kept) else None)

    def moments(self) -> list[float]:
        """Of all samples that are here."""
        query = SeriesQuery(subject=Subject(NODES, NODE), since=0.0, until=math.inf)
        return list(self.series.read(query).at)

    def gaps(self) -> list[Gap]:
        """All that are here, but for those of a machine that has more to do than tests can take."""
        return [gap for gap in self.series.gaps(NODE, 0.0, math.inf) if gap.why != LATE]

    def until_sampled(self, count: int = 2) -> None:
        """Wait until so many more samples have come."""
        already = len(self.moments())
        self.until(lambda: len(self.moments()) >= already + count)


class SampledNode:
    """The node's sampler, seen from outside."""

    def __init__(self, node: Node) -> None:
        self.node = node

    def samplers(self) -> list[int]:
        """The pids of all samplers of the node."""
        return [pid for pid in self.node.pids() if _is_sampler(pid)]

    def sampler(self) -> int:
        """The pid of the one sampler, as soon as there is one."""
        pids: list[int] = self.node.desk.until(self.samplers)
        (pid,) = pids
        return pid

    def stop(self) -> int:
        """Have the sampler hang; returns its pid."""
        pid = self.sampler()
        os.kill(pid, signal.SIGSTOP)
        return pid


@contextmanager
def a_sampled_node(
    directory: Path, settings: Settings = SETTINGS
) -> Iterator[tuple[SampledDesk, Node, SampledNode]]:
    """As `a_node`: afterwards nothing may be left, no sampler either."""
    desk = SampledDesk(settings)
    with a_node(directory, by_file=True, desk=desk) as (_, node):
        yield desk, node, SampledNode(node)


def _is_sampler(pid: int) -> bool:
    try:
        process = psutil.Process(pid)
        return "tenuto.monitor.sampler" in process.cmdline() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
