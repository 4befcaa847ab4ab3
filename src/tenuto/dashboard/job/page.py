"""The page of one job put together: the head, the tabs, and what draws them again."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from nicegui import ui
from nicegui.events import ValueChangeEventArguments

from tenuto.client.asynchronous import AsyncClient
from tenuto.dashboard.job.course import unix
from tenuto.dashboard.job.events_panel import Happened
from tenuto.dashboard.job.head_panel import Head
from tenuto.dashboard.job.logs_panel import Logs
from tenuto.dashboard.job.metrics_panel import Metrics
from tenuto.dashboard.job.overview_panel import Overview
from tenuto.dashboard.job.words_panel import Config, Explanation
from tenuto.dashboard.live import Live, about_job, nothing
from tenuto.dashboard.site import Site
from tenuto.dashboard.wording import job_path, link
from tenuto.errors import NotFound
from tenuto.model.phase import ENDED
from tenuto.wire.replies import EventOut, JobOut
from tenuto.wire.worker import WorkerId

TABS = ("overview", "metrics", "logs", "events", "config", "explain")
NEWEST_EVENTS = 300
PACE = 2.0
"""Seconds between two looks at a job that runs: steps are not told one by one."""
AFTERMATH = 60.0
"""Seconds."""
_EVERY = {"metrics": 3.0, "explain": 15.0}
_LEAST = {"metrics": 2.0, "explain": 3.0}


class Panel(Protocol):
    """What a tab shows."""

    async def draw(self, job: JobOut) -> None:
        """Show how it is now."""
        ...


class JobPage:
    """Only the head and the tab that is seen are kept up to date."""

    def __init__(self, site: Site, ask: AsyncClient, job: JobOut, tab: str) -> None:
        self._site = site
        self._ask = ask
        self._job = job
        self._shown = tab if tab in TABS else TABS[0]
        self._stir: dict[str, Callable[[], None]] = {}
        gone = f"This job was deleted. {link('/jobs', 'See all jobs')}"
        self._gone = ui.html(gone, sanitize=False).classes("t-bad t-card").props("role=alert")
        self._gone.set_visibility(False)
        self._head = Head(ask, job)
        self._panels = self._build()

    def _build(self) -> dict[str, Panel]:
        with ui.tabs(on_change=self._turned).classes("w-full t-tabs") as tabs:
            tabs.props("dense no-caps align=left outside-arrows mobile-arrows inline-label")
            for name in TABS:
                ui.tab(name, label=name.capitalize())
        made: dict[str, Panel] = {}
        with ui.tab_panels(tabs, value=self._shown, animated=False).classes("w-full t-panels"):
            for name in TABS:
                with ui.tab_panel(name).classes("p-0 gap-4"):
                    made[name] = self._panel(name)
        return made

    def _panel(self, name: str) -> Panel:
        site, ask, job = self._site, self._ask, self._job
        match name:
            case "overview":
                return Overview(site, ask, job, self._changed)
            case "metrics":
                return Metrics(site, ask, self._events, lambda: self._redraw("metrics"))
            case "logs":
                return Logs(ask, job, lambda: self._redraw("logs"))
            case "events":
                return Happened(ask, self._events)
            case "config":
                return Config()
            case _:
                return Explanation(ask)

    async def begin(self, live: Live) -> None:
        """Draw for the first time, and from now on at news."""
        self._head.show(self._job)
        await self._panels[self._shown].draw(self._job)
        mine = about_job(self._job.id)
        live.part(self._look, wants=mine, least=0.3)
        live.part(self._look_again, wants=nothing, every=PACE)
        for name in TABS:
            # Config and overview are drawn with every look at the job itself.
            wants = mine if name in ("metrics", "events", "explain") else nothing
            self._stir[name] = live.part(self._drawing(name), wants=wants, least=_LEAST.get(name, 0.4))
            if name in _EVERY:
                live.part(self._drawing(name, while_it_lives=True), wants=nothing, every=_EVERY[name])
        logs = self._panels["logs"]
        assert isinstance(logs, Logs)

        def heard(worker: WorkerId) -> None:
            logs.heard(worker)
            if self._shown == "logs":
                self._stir["logs"]()

        ui.context.client.on_delete(self._site.news.listen_to_logs(self._job.id, heard))

    def _redraw(self, tab: str) -> None:
        if tab in self._stir:
            self._stir[tab]()

    def _drawing(self, name: str, *, while_it_lives: bool = False) -> Callable[[], Awaitable[None]]:
        async def draw() -> None:
            if name == self._shown and (self._lives() or not while_it_lives):
                await self._panels[name].draw(self._job)

        return draw

    def _lives(self) -> bool:
        """Whether there may be something new about it: its last numbers come when it has just ended."""
        ended = self._job.ended_at
        return ended is None or time.time() < unix(ended) + AFTERMATH

    async def _look(self) -> None:
        """See how the job is."""
        try:
            self._job = await self._ask.job(self._job.id)
        except NotFound:
            self._gone.set_visibility(True)
            return
        self._head.show(self._job)
        if self._shown in ("overview", "config"):
            await self._panels[self._shown].draw(self._job)

    async def _look_again(self) -> None:
        if self._job.state not in ENDED:
            await self._look()

    def _changed(self, job: JobOut) -> None:
        """The visitor changed something, and this is what the job is now."""
        self._job = job
        self._head.show(job)

    async def _turned(self, change: ValueChangeEventArguments[Any]) -> None:
        tab = str(change.value)
        if tab in TABS and tab != self._shown:
            self._shown = tab
            ui.navigate.history.replace(f"{job_path(self._job.id)}?tab={tab}")
            await self._panels[tab].draw(self._job)

    async def _events(self) -> list[EventOut]:
        """The newest events, asked for once by all who look at this job."""
        key = ("events", self._job.id)
        return await self._site.once(key, lambda: self._ask.last_events(NEWEST_EVENTS, job=self._job.id), 5.0)
