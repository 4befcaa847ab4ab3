"""The first tab of a job's page: its size, its workers, and what else there is to know."""

from __future__ import annotations

from nicegui import ui

from tenuto.client.asynchronous import AsyncClient
from tenuto.dashboard.frame import card
from tenuto.dashboard.job import facts
from tenuto.dashboard.job.scale_panel import Scaling, Shown
from tenuto.dashboard.job.widgets import NODE_CELL, facts_html, fill, table
from tenuto.dashboard.site import Site
from tenuto.wire.replies import JobOut

MEMBERS = {
    "rank": "Rank", "worker": "Worker", "node": "Node", "slot": "Slot", "stage": "Stage", "generation": "Generation",
}  # fmt: skip


class Overview:
    """Drawn at every news of the job."""

    def __init__(self, site: Site, ask: AsyncClient, job: JobOut, changed: Shown) -> None:
        self._site = site
        self._ask = ask
        with ui.element("div").classes("t-two w-full"):
            with ui.element("div") as self._size:
                self._scaling = Scaling(ask, job, changed)
            with card("About"):
                self._facts = ui.html(sanitize=False).classes("w-full")
        with card("Who trains") as self._training:
            self._members = table("Who trains", MEMBERS, {"node": NODE_CELL}, wide=("slot", "generation"))

    async def draw(self, job: JobOut) -> None:
        """Tell how it is now."""
        found = await self._site.once("map", self._ask.cluster_map)
        self._scaling.show(job, found)
        self._size.set_visibility(job.ended_at is None)
        self._facts.set_content(facts_html(facts.facts(job)))
        rows = facts.member_rows(job)
        self._training.set_visibility(bool(rows))
        fill(self._members, rows)
