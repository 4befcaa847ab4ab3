"""What every resource works with, and how a handler gets it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from shutil import rmtree
from typing import Annotated

from fastapi import Depends, Request

from tenuto.monitor.latest import LatestSamples
from tenuto.monitor.prometheus.counts import Counts
from tenuto.server.ends import RecentEnds
from tenuto.server.outlook import Outlook
from tenuto.server.telling import Paces, forget_told
from tenuto.server.training_series import TrainingSeries
from tenuto.server.waiting import CommitBell
from tenuto.settings import Settings
from tenuto.store.base import Store
from tenuto.store.logs import LogStore
from tenuto.store.series.base import SeriesStore
from tenuto.store.series.memory import MemorySeries
from tenuto.store.steps import StepStore


@dataclass(frozen=True, slots=True)
class Files:
    """What workers leave behind, which is too much for the store; and the server's own log."""

    logs: LogStore
    steps: StepStore
    server_log: Path | None = None
    series: SeriesStore = field(default_factory=MemorySeries)
    """Numbers over time."""
    latest: LatestSamples = field(default_factory=LatestSamples)
    """What nodes are doing now."""


@dataclass(frozen=True, slots=True)
class Platform:
    """The server's hands and eyes."""

    store: Store
    files: Files
    paces: Paces
    settings: Settings
    clock: Callable[[], float]
    """Unix seconds."""
    bell: CommitBell
    outlook: Outlook = field(default_factory=Outlook)
    ends: RecentEnds = field(default_factory=RecentEnds)
    counts: Counts = field(default_factory=Counts)
    training: TrainingSeries = field(kw_only=True)

    @classmethod
    def over(cls, store: Store, files: Files, settings: Settings, clock: Callable[[], float]) -> Platform:
        """Everything that follows from these."""
        training = TrainingSeries(files.series, clock, settings.monitor.minutes)
        return cls(store, files, Paces(store), settings, clock, CommitBell(store), training=training)

    @property
    def logs(self) -> LogStore:
        """What workers printed."""
        return self.files.logs

    def forget(self, job: str) -> None:
        """Leave nothing of a job that was deleted but its events."""
        streams = self.files.steps.streams(job)
        self.store.write(lambda tx: forget_told(tx, job, streams))
        self.paces.forget(job)
        self.training.forget(job)
        self.files.logs.remove(job)
        self.files.steps.remove(job)
        # Of jobs that name a directory themselves there is nothing below it.
        if self.settings.store.checkpoints:
            rmtree(Path(self.settings.store.checkpoints, job), ignore_errors=True)


async def _platform(request: Request) -> Platform:
    platform: Platform = request.app.state.platform
    return platform


async def _user(request: Request) -> str:
    name: str = request.state.token.user
    return name


Here = Annotated[Platform, Depends(_platform)]
Who = Annotated[str, Depends(_user)]
"""The name of the user whose token came with the request."""
