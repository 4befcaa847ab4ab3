"""What operators want to know of the server itself: its log and its settings. Every user is one, so far."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from fastapi import APIRouter, Query, Request
from pydantic import BaseModel, ConfigDict, Field

from tenuto.errors import InputInvalid, NotFound
from tenuto.server.log_file import LogPage, lines_after, newest_lines
from tenuto.server.paging import Limit, Text
from tenuto.server.platform import Here
from tenuto.settings import named, scheduling_in_force, without_secrets
from tenuto.wire.operations import ServerLogOut, SettingOut, SettingsOut

router = APIRouter(prefix="/server", tags=["server"])


class LogFilter(BaseModel):
    """Which lines to show."""

    model_config = ConfigDict(extra="forbid")

    limit: Limit = 100
    grep: Text = Field(default="", description="Only lines that contain this.")
    after: Text = Field(default="", description="`next` of another page: the first lines behind it.")
    before: Text = Field(default="", description="`earlier` of another page: the last lines before it.")


@router.get("/log", response_model=ServerLogOut)
def show_server_log(here: Here, which: Annotated[LogFilter, Query()]) -> ServerLogOut:
    """Show the server's log: its newest lines, or those before or after another page. Oldest first."""
    if which.after and which.before:
        raise InputInvalid("after and before exclude each other", remedy="Leave one out", field="before")
    if (path := here.files.server_log) is None:
        raise NotFound("this server keeps no log", remedy="See where it was started")
    page = _page(path, which)
    return ServerLogOut(
        items=page.lines, next=str(page.next), earlier=str(page.earlier) if page.earlier else None
    )


def _page(path: Path, which: LogFilter) -> LogPage:
    if which.after:
        return lines_after(path, which.limit, which.after, which.grep)
    return newest_lines(path, which.limit, which.before, which.grep)


@router.get("/settings", response_model=SettingsOut)
def show_settings(here: Here, request: Request) -> SettingsOut:
    """Show the settings in force and where each comes from; secrets are left out."""
    default = here.settings.scheduling
    scheduling = here.store.read(lambda tx: scheduling_in_force(tx.meta("scheduling"), default))
    begun, now = named(here.settings), named(replace(here.settings, scheduling=scheduling))
    origins = {name: "stored" for name in now if now[name] != begun[name]}
    origins = {**request.app.state.origins, **origins}
    return SettingsOut(
        items=[
            SettingOut(name=name, value=without_secrets(value), origin=origins.get(name, "default"))
            for name, value in now.items()
        ]
    )
