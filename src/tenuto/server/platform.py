"""What every resource works with, and how a handler gets it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated

from fastapi import Depends, Request

from tenuto.server.waiting import JobBell
from tenuto.settings import Settings
from tenuto.store.base import Store
from tenuto.store.logs import LogStore


@dataclass(frozen=True, slots=True)
class Platform:
    """The server's hands and eyes."""

    store: Store
    logs: LogStore
    settings: Settings
    clock: Callable[[], float]
    """Unix seconds."""
    bell: JobBell


async def _platform(request: Request) -> Platform:
    platform: Platform = request.app.state.platform
    return platform


async def _user(request: Request) -> str:
    name: str = request.state.token.user
    return name


Here = Annotated[Platform, Depends(_platform)]
Who = Annotated[str, Depends(_user)]
"""The name of the user whose token came with the request."""
