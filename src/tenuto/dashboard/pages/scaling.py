"""Scaling log: who changed which job's workers, when, why, from how many to how many."""

from __future__ import annotations

from typing import Any

from nicegui import ui
from starlette.requests import Request

from tenuto.client.asynchronous import AsyncClient
from tenuto.dashboard.acting import tell_trouble
from tenuto.dashboard.frame import card, frame
from tenuto.dashboard.live import Live
from tenuto.dashboard.scaling_table import CAUSES, LogView, as_csv, row_of, view_in
from tenuto.dashboard.site import Site
from tenuto.dashboard.wording import link
from tenuto.errors import TenutoError
from tenuto.wire.scaling import ScalingLogOut, ScalingOut

ROWS = 50
MOST_ASKS = 10
"""How often it is asked for one page, where what is sought is rare."""
MOST_EXPORTED = 20_000
KINDS = ("scaled", "pinned", "phase")
WIDE = {"classes": "t-wide", "headerClasses": "t-wide"}
COLUMNS: list[dict[str, Any]] = [
    {"name": "at", "label": "When", "field": "at", "align": "left"},
    {"name": "name", "label": "Job", "field": "name", "align": "left"},
    {"name": "sizes", "label": "Workers", "field": "sizes", "align": "left"},
    {"name": "who", "label": "By", "field": "who", "align": "left"},
    {"name": "reason", "label": "Why", "field": "reason", "align": "left", **WIDE},
]
SLOTS = {
    "at": """<q-td :props="props"><time :datetime="props.row.at"></time></q-td>""",
    "name": """<q-td :props="props" class="t-name"><a v-if="props.row.href" :href="props.row.href">
        {{ props.row.name }}</a><span v-else title="It was deleted">{{ props.row.name }}</span></q-td>""",
    "sizes": """<q-td :props="props">{{ props.row.change }} <b>{{ props.row.sizes }}</b>
        <div class="t-muted t-small t-wide">{{ props.row.where }}</div></q-td>""",
    "who": """<q-td :props="props">{{ props.row.who }}
        <div class="t-small" :class="'t-' + props.row.tone">{{ props.row.by }}</div></q-td>""",
}


def add(site: Site) -> None:
    """Put the page on the site."""

    @ui.page("/scaling", response_timeout=20)
    async def scaling(request: Request) -> None:
        live = Live(site.news)
        with frame("Scaling log", "/scaling", request.state.visitor.user):
            page = ScalingLog(site, site.ask(request), view_in(request.query_params))
        await page.draw()
        live.part(page.draw, wants=lambda event: event.kind in KINDS, least=1.0)


class ScalingLog:
    """The filters and the table; older changes are turned to page by page."""

    def __init__(self, site: Site, ask: AsyncClient, view: LogView) -> None:
        self._site, self._ask, self._view = site, ask, view
        self._cursors: list[str] = [""]
        """Where the pages begin that were turned to; the last one is looked at."""
        self._next: str | None = None
        with card():
            self._add_filters()
            self._table = ui.table(columns=COLUMNS, rows=[], row_key="id", pagination=0)
            self._table.props("flat dense wrap-cells hide-bottom").classes("w-full")
            for name, template in SLOTS.items():
                self._table.add_slot(f"body-cell-{name}", template)
            self._add_empty()
            with ui.row().classes("w-full items-center justify-end gap-2") as self._turning:
                self._newer = ui.button("Newer", icon="chevron_left", on_click=self._turn_back)
                self._older = ui.button("Older", icon="chevron_right", on_click=self._turn)
            for button in (self._newer, self._older):
                button.props("flat dense no-caps")

    def _add_filters(self) -> None:
        view = self._view
        dense = "dense outlined clearable debounce=300 hide-bottom-space"
        with ui.row().classes("w-full items-start gap-3"):
            self._text = ui.input("Search", value=view.text, on_change=self._filter)
            self._text.props(dense).classes("t-search t-field")
            self._job = ui.input("Job", value=view.job, placeholder="name or id", on_change=self._filter)
            self._job.props(dense).classes("t-field")
            self._by = ui.select(CAUSES, label="By", value=view.by, on_change=self._filter)
            self._by.props("dense outlined options-dense").classes("t-field")
            ui.space()
            ui.button("CSV", icon="download", on_click=self._export).props(
                'flat no-caps aria-label="Download as CSV"'
            )

    def _add_empty(self) -> None:
        with ui.column().classes("t-empty w-full items-center") as self._nothing:
            ui.label("No job's workers were ever changed here.")
            ui.html(
                f"It begins when a job starts: {link('/submit', 'submit one')}, or press +1 on its page.",
                sanitize=False,
            )
        with ui.column().classes("t-empty w-full items-center") as self._no_match:
            ui.label("Nothing matches.")
            ui.button("Clear the filters", on_click=self._clear).props("flat no-caps")

    async def draw(self) -> None:
        """The page that is looked at; an older one does not change."""
        view, cursor = self._view, self._cursors[-1]
        if cursor and self._table.rows:
            return
        try:
            found, following = await self._site.once(
                ("scaling", view, cursor), lambda: self._read(view, cursor)
            )
        except TenutoError as error:
            self._show([], None)
            self._job.error = str(error)
            return
        if (view, cursor) != (self._view, self._cursors[-1]):
            return  # meanwhile the visitor has turned to something else
        self._job.error = None
        self._show(found, following)

    async def _read(self, view: LogView, cursor: str) -> tuple[list[ScalingOut], str | None]:
        """A full page, if there are so many: the server may stop looking before it has found them."""
        found: list[ScalingOut] = []
        following: str | None = cursor
        for _ in range(MOST_ASKS):
            told: ScalingLogOut = await self._ask.scaling(
                **view.query(), cursor=following, limit=ROWS - len(found)
            )
            found, following = found + told.items, told.next
            if following is None or len(found) == ROWS:
                break
        return found, following

    def _show(self, found: list[ScalingOut], following: str | None) -> None:
        rows = [row_of(change) for change in found]
        if rows != self._table.rows:
            self._table.rows = rows
        self._next = following
        first = len(self._cursors) == 1
        self._table.set_visibility(bool(rows))
        self._nothing.set_visibility(not rows and first and not self._view.is_filtered)
        self._no_match.set_visibility(not rows and not self._nothing.visible)
        self._turning.set_visibility(not first or following is not None)
        self._newer.set_enabled(not first)
        self._older.set_enabled(following is not None)

    async def _turn(self) -> None:
        if self._next is not None:
            await self._look_at([*self._cursors, self._next])

    async def _turn_back(self) -> None:
        if len(self._cursors) > 1:
            await self._look_at(self._cursors[:-1])

    async def _look_at(self, cursors: list[str]) -> None:
        self._cursors = cursors
        self._table.rows = []
        await self.draw()

    async def _filter(self) -> None:
        job, text = (self._job.value or "").strip(), (self._text.value or "").strip()
        view = LogView(job=job, by=self._by.value or "", text=text)
        if view != self._view:
            self._view = view
            ui.navigate.history.replace(view.address())
            await self._look_at([""])

    async def _clear(self) -> None:
        self._job.value = self._text.value = self._by.value = ""
        await self._filter()

    async def _export(self) -> None:
        """Everything that the filters mean, not only what is shown."""
        found: list[ScalingOut] = []
        following: str | None = ""
        try:
            while following is not None and len(found) < MOST_EXPORTED:
                told = await self._ask.scaling(**self._view.query(), cursor=following, limit=500)
                found, following = found + told.items, told.next
        except TenutoError as error:
            tell_trouble(str(error))
            return
        ui.download.content(as_csv(found), "scaling-log.csv", "text/csv")
        if following is not None:
            ui.notify(f"These are the newest {len(found):,} changes; there are older ones.", type="info")
