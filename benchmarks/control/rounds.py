"""Ticks of the controller over many jobs: when all are new, when one is, when one ends, and when nothing happens."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from pathlib import Path

from benchmarks.control.figures import Report
from benchmarks.control.platform import Platform, a_platform, resident
from benchmarks.control.ticks import Ticks, taken_apart

from tenuto.model.phase import Phase

TABLE = "Ticks of the controller (milliseconds of processor time by part)"


@dataclass(frozen=True, slots=True)
class Load:
    """Jobs that arrive at once."""

    name: str
    deadlines: int
    others: int
    least: int = 1
    """The fewest slots with which one of the others begins."""
    hurry: tuple[float, float] = (2.0, 8.0)

    def scaled(self, share: float) -> Load:
        """Fewer jobs of the same kinds."""
        deadlines, others = round(self.deadlines * share), round(self.others * share)
        return replace(self, name=f"{share:g} of {self.name}", deadlines=deadlines, others=others)


LOADS = (
    Load("1,000 deadlines", 1_000, 0),
    Load("10,000 queued, 1,000 deadlines", 1_000, 9_000, least=8),
    Load("10,000 deadlines", 10_000, 0, hurry=(10.0, 60.0)),
)


def measure(report: Report, nodes: int, share: float = 1.0) -> None:
    """All loads, or a share of each, with a store and a controller of their own."""
    for whole in LOADS:
        load = whole if share == 1.0 else whole.scaled(share)
        with tempfile.TemporaryDirectory() as place, a_platform(Path(place), nodes) as platform:
            platform.settle()
            with taken_apart(platform.engine) as ticks:
                _one(report, load, platform, ticks)


def _one(report: Report, load: Load, platform: Platform, ticks: Ticks) -> None:
    lot = platform.lot
    jobs = [lot.draw(deadline=True, hurry=load.hurry) for _ in range(load.deadlines)]
    jobs += [lot.draw(deadline=False, least=load.least) for _ in range(load.others)]
    platform.submit(jobs)
    _tick(report, platform, ticks, f"{load.name}: all new")
    platform.settle()
    platform.clock.now += 1.0
    _tick(report, platform, ticks, f"{load.name}: nothing happens")
    platform.submit([lot.draw(deadline=True, hurry=load.hurry)])
    _tick(report, platform, ticks, f"{load.name}: one with a deadline comes")
    platform.settle()
    platform.submit([lot.draw(deadline=False, least=load.least)])
    _tick(report, platform, ticks, f"{load.name}: one without comes")
    platform.settle()
    platform.engine.end_job(platform.somebody(Phase.RUNNING))
    _tick(report, platform, ticks, f"{load.name}: one ends")
    platform.settle()
    report.note(f"{load.name}: {platform.counts()}; {resident():.0f} MB resident")


def _tick(report: Report, platform: Platform, ticks: Ticks, what: str) -> None:
    ticks.tick(platform.controller)
    platform.clock.now += 0.05
    report.add(TABLE, {"tick": what, **ticks.row()})
