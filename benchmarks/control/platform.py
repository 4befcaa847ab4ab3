"""A real store and a real controller over an engine whose nodes exist in memory only, under a clock that we move."""

from __future__ import annotations

import itertools
import os
import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from tenuto.engines.fake import FakeEngine
from tenuto.live.controller import Controller
from tenuto.live.policy_in_force import rules_of
from tenuto.model.event import Event
from tenuto.model.job import Job, JobSpec, Progress
from tenuto.model.phase import Phase
from tenuto.policy.elasticflow import ELASTICFLOW
from tenuto.settings import Nodes, Scheduling, Settings
from tenuto.sim.loop import warm_up
from tenuto.store.base import JobQuery, Store, Tx
from tenuto.store.open import open_store

SLOTS = 8
HOUR = 3600.0
CURVES = tuple(
    {size: first * slope**level for level, size in enumerate((1, 2, 4, 8))}
    for first in (0.7, 1.0, 2.5)
    for slope in (1.95, 1.8, 1.6)
)
_START = 1_700_000_000.0


class Clock:
    """Unix seconds that pass only when told."""

    def __init__(self) -> None:
        self.now = _START

    def __call__(self) -> float:
        return self.now


class Lot:
    """Jobs by chance, the same in every run."""

    def __init__(self, clock: Callable[[], float], seed: int = 0) -> None:
        self._clock = clock
        self._chance = random.Random(seed)
        self._numbers = itertools.count()

    def draw(self, *, deadline: bool, least: int = 1, hurry: tuple[float, float] = (2.0, 8.0)) -> Job:
        """A job of one to ten hours on one slot; in a hurry if `hurry` times its shortest run is little time."""
        now, chance = self._clock(), self._chance
        curve = chance.choice(CURVES)
        steps = float(round(chance.uniform(1.0, 10.0) * HOUR * curve[1]))
        due = now + round(600.0 + chance.uniform(*hurry) * steps / curve[4])
        name = f"job-{next(self._numbers):06d}"
        spec = JobSpec(name=name, run=("train",), min_workers=least, max_workers=8, steps=steps, curve=curve)
        return Job(
            id=name,
            number=0,
            revision=0,
            spec=spec,
            owner="kim",
            submitted_at=now,
            deadline=due if deadline else None,
            curve=curve,
            progress=Progress(left=steps, as_of=now),
        )


class Platform:
    """What a measurement needs: submit, tick, end a job."""

    def __init__(self, store: Store, nodes: int) -> None:
        self.store, self.clock = store, Clock()
        self.lot = Lot(self.clock)
        self.engine = FakeEngine(self.clock)
        for index in range(nodes):
            self.engine.add_node(f"node-{index:04d}", SLOTS)
        settings = Settings(scheduling=Scheduling(), nodes=Nodes())
        self.controller = Controller(store, self.engine, self.clock, settings, force=True)

    def submit(self, jobs: Sequence[Job]) -> list[str]:
        """Store jobs as the server does."""

        def act(tx: Tx) -> None:
            for job in jobs:
                tx.add_job(job)
                tx.add_event(Event(kind="submitted", at=job.submitted_at, actor="kim", job=job.id))

        self.store.write(act)
        return [job.id for job in jobs]

    def settle(self) -> int:
        """Tick until nothing changes any more; returns how many ticks it took."""
        for ticks in range(1, 100):
            before = self.store.revision()
            complete = self.controller.tick()
            if complete and self.store.revision() == before:
                return ticks
            self.clock.now += 0.05
        raise RuntimeError("the controller does not come to rest")

    def counts(self) -> str:
        """How many jobs are in which phase, in words."""
        counts = self.store.read(lambda tx: tx.count_jobs())
        return ", ".join(f"{count:,} {phase}" for phase, count in counts.items() if count)

    def somebody(self, phase: Phase) -> str:
        """A job in this phase."""
        query = JobQuery(phases=frozenset({phase}), limit=1)
        return self.store.read(lambda tx: tx.jobs(query)[0].id)


@contextmanager
def a_platform(directory: Path, nodes: int) -> Iterator[Platform]:
    """With a SQLite file of its own; the kernels are there."""
    warm_up(ELASTICFLOW, rules_of(Scheduling()))
    with closing(open_store(f"sqlite:///{directory}/store.sqlite")) as store:
        yield Platform(store, nodes)


def resident() -> float:
    """Megabytes that this process keeps in memory now."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1e6
