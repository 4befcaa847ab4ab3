"""Timeline: who had how many slots, and who will; past and future on one axis."""

from __future__ import annotations

import time
from typing import Any
from urllib.parse import urlencode

from nicegui import ui
from nicegui.events import GenericEventArguments, ValueChangeEventArguments
from starlette.requests import Request

from tenuto.client.asynchronous import AsyncClient
from tenuto.dashboard.frame import card, frame
from tenuto.dashboard.live import Live
from tenuto.dashboard.site import Site
from tenuto.dashboard.timeline_chart import (
    RANGES,
    USUAL,
    Range,
    asked_for,
    height,
    lines,
    options,
    range_in,
)
from tenuto.dashboard.wording import job_path, link
from tenuto.model.event import Event

MANY, REST = 50, 10.0
"""Where there are so many jobs, something happens all the time: then it is drawn anew after so many seconds."""
FRESH = 2.0
"""Seconds for which one answer is good enough for everybody who looks at the same range."""
KINDS = ("scaled", "phase", "verdict", "promise", "changed", "submitted", "node", "policy")
"""Events after which it looks different."""
WIDE = {"classes": "t-wide", "headerClasses": "t-wide"}
COLUMNS: list[dict[str, Any]] = [
    {"name": "name", "label": "Job", "field": "name", "align": "left"},
    {"name": "state", "label": "State", "field": "state", "align": "left", **WIDE},
    {"name": "slots", "label": "Slots", "field": "slots", "align": "right"},
    {"name": "next", "label": "Next size", "field": "next", "align": "left", **WIDE},
    {"name": "end", "label": "End", "field": "end", "align": "left"},
    {"name": "promise", "label": "Promise", "field": "promise", "align": "left"},
]
SLOTS = {
    "name": """<q-td :props="props" class="t-name"><a :href="props.row.href">{{ props.row.name }}</a></q-td>""",
    "next": """<q-td :props="props"><template v-if="props.row.next">{{ props.row.next.slots }} from
        <time :datetime="props.row.next.at"></time></template></q-td>""",
    "end": """<q-td :props="props"><time v-if="props.row.end" :datetime="props.row.end"></time>
        <span v-else-if="props.row.finish" class="t-muted">about
          <time :datetime="props.row.finish"></time></span></q-td>""",
    "promise": """<q-td :props="props"><span :class="'t-' + props.row.tone">{{ props.row.promise }}</span>
        <template v-if="props.row.promised">{{ ' ' }}<time :datetime="props.row.promised"></time></template></q-td>""",
}
LEGEND = (
    "Solid: slots that were held. Pale: foreseen. Outline: promised. A higher bar is more slots. "
    "Upright line: deadline; dot: promised finish. Drag to pan, Ctrl and the wheel to zoom, click to see the job."
)


def add(site: Site) -> None:
    """Put the page on the site."""

    @ui.page("/timeline", response_timeout=20)
    async def timeline(request: Request) -> None:
        live = Live(site.news)
        ui.add_head_html('<script src="/page/timeline.js" defer></script>')
        with frame("Timeline", "/timeline", request.state.visitor.user):
            page = Timeline(site, site.ask(request), range_in(request.query_params.get("range", "")))
        await page.draw()
        live.part(page.draw, wants=_shows, least=2.0, every=15.0)


def _shows(event: Event) -> bool:
    return event.kind in KINDS


class Timeline:
    """The chart, and the same as a table."""

    def __init__(self, site: Site, ask: AsyncClient, span: Range) -> None:
        self._site, self._ask, self._span = site, ask, span
        self._ids: list[str] = []
        self._first = True
        self._drawn_at = -REST
        with card():
            with ui.row().classes("w-full items-center gap-3"):
                ui.toggle([one.label for one in RANGES], value=span.label, on_change=self._choose).props(
                    'unelevated no-caps size=sm padding="2px 10px" aria-label="How long"'
                )
                self._note = ui.label().classes("t-muted").props("role=status")
            self._chart = ui.echart({"series": []}).classes("w-full")
            self._chart.props('role=img aria-label="Slots of jobs over time; the table below tells the same"')
            self._chart.on("componentClick", self._clicked, ["componentType", "value"])
            self._legend = ui.label(LEGEND).classes("t-muted t-small")
            with ui.column().classes("t-empty w-full items-center gap-1") as self._nothing:
                ui.label("No job has had slots in this time, and none waits for them.")
                ui.html(f"{link('/submit', 'Submit a job')}, or choose a longer time.", sanitize=False)
        with card("Jobs in this time") as self._below:
            self._table = ui.table(columns=COLUMNS, rows=[], row_key="id", pagination=25)
            self._table.props("flat dense wrap-cells").classes("w-full")
            for name, template in SLOTS.items():
                self._table.add_slot(f"body-cell-{name}", template)

    async def draw(self) -> None:
        """Show what is told now."""
        if not self._first and len(self._ids) > MANY and time.monotonic() < self._drawn_at + REST:
            return
        span = self._span
        told = await self._site.once(
            ("timeline", span.label), lambda: self._ask.timeline(**asked_for(span)), FRESH
        )
        if span is not self._span:
            return  # another range was chosen meanwhile
        some = bool(told.jobs)
        for part in (self._chart, self._legend, self._below):
            part.set_visibility(some)
        self._nothing.set_visibility(not some)
        self._ids = [job.id for job in told.jobs]
        self._note.set_text(_note(len(told.jobs), more=told.more))
        self._chart.style(f"height: {height(len(told.jobs))}px")
        self._chart.options.clear()
        self._chart.options.update(options(told, first=self._first))
        self._chart.update()
        self._first, self._drawn_at = False, time.monotonic()
        rows = lines(told)
        if rows != self._table.rows:
            self._table.rows = rows

    async def _choose(self, event: ValueChangeEventArguments[str]) -> None:
        self._span, self._first = range_in(event.value), True
        usual = self._span is USUAL
        ui.navigate.history.replace(
            "/timeline" if usual else f"/timeline?{urlencode({'range': self._span.label})}"
        )
        await self.draw()

    def _clicked(self, event: GenericEventArguments) -> None:
        """Go to the job whose bar, mark or name was clicked."""
        value = event.args.get("value")
        if event.args.get("componentType") == "yAxis":
            ui.navigate.to(job_path(str(value)))
        elif isinstance(value, list) and len(value) in (3, 5):
            row = int(value[2] if len(value) == 5 else value[1])
            if 0 <= row < len(self._ids):
                ui.navigate.to(job_path(self._ids[row]))


def _note(jobs: int, *, more: bool) -> str:
    counted = "1 job" if jobs == 1 else f"{jobs} jobs"
    return f"{counted}; there are more than can be shown" if more else counted
