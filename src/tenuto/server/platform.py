"""What every resource works with, and how a handler gets it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from shutil import rmtree
from typing import Annotated

from fastapi import Depends, Request

from tenuto.server.telling import Paces, forget_told
from tenuto.server.waiting import JobBell
from tenuto.settings import Settings
from tenuto.store.base import Store
from tenuto.store.logs import LogStore
from tenuto.store.steps import StepStore


@dataclass(frozen=True, slots=True)
class Files:
    """What workers leave behind, which is too much for the store."""

    logs: LogStore
    steps: StepStore


@dataclass(frozen=True, slots=True)
class Platform:
    """The server's hands and eyes."""

    store: Store
    files: Files
    paces: Paces
    settings: Settings
    clock: Callable[[], float]
    """Unix seconds."""
    bell: JobBell

    @property
    def logs(self) -> LogStore:
        """What workers printed."""
        return self.files.logs

    def forget(self, job: str) -> None:
        """Leave nothing of a job that was deleted but its events."""
        streams = self.files.steps.streams(job)
        self.store.write(lambda tx: forget_told(tx, job, streams))
        self.paces.forget(job)
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
