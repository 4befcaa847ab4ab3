"""Jobs: a table of all of them, sorted, filtered and paged by the server."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

from nicegui import ui
from nicegui.events import GenericEventArguments
from starlette.requests import Request

from tenuto.client.asynchronous import AsyncClient
from tenuto.dashboard.acting import confirmed
from tenuto.dashboard.frame import card, frame
from tenuto.dashboard.job_table import (
    ROWS,
    Outcome,
    TableView,
    counted,
    labels_in,
    refusals,
    row_of,
    told_outcomes,
    view_in,
)
from tenuto.dashboard.live import Live
from tenuto.dashboard.site import Site
from tenuto.dashboard.wording import link
from tenuto.errors import InputInvalid, TenutoError
from tenuto.model.phase import STANDING

AT_ONCE = 8
"""Jobs that are cancelled at the same time."""
WIDE = {"classes": "t-wide", "headerClasses": "t-wide"}
"""Columns for which a phone has no room."""
COLUMNS: list[dict[str, Any]] = [
    {"name": "name", "label": "Name", "field": "name", "align": "left", "sortable": True},
    {"name": "state", "label": "State", "field": "state", "align": "left", "sortable": True},
    {"name": "workers", "label": "Workers", "field": "workers", "align": "left", **WIDE},
    {"name": "done", "label": "Progress", "field": "done", "align": "left", **WIDE},
    {"name": "promise", "label": "Promise", "field": "promise", "align": "left"},
    {"name": "deadline", "label": "Deadline", "field": "deadline", "align": "left", **WIDE},
    {"name": "ended", "label": "End", "field": "ended", "align": "left", "sortable": True, "sortOrder": "da", **WIDE},
    {"name": "owner", "label": "Owner", "field": "owner", "align": "left", "sortable": True, **WIDE},
    {"name": "submitted", "label": "Submitted", "field": "submitted", "align": "left", "sortable": True,
     "sortOrder": "da", **WIDE},
]  # fmt: skip
SLOTS = {
    "name": """<q-td :props="props" class="t-name"><a :href="props.row.href">{{ props.row.name }}</a>
        <span v-if="props.row.urgent" class="t-warn q-ml-xs">urgent</span>
        <div class="t-muted t-small"><span class="q-mr-xs">{{ props.row.id }}</span>
          <span v-for="label in props.row.labels" :key="label" class="t-label">{{ label }}</span></div></q-td>""",
    "state": """<q-td :props="props"><span :class="'t-' + props.row.tone" :title="props.row.message">
        {{ props.row.state }}</span></q-td>""",
    "done": """<q-td :props="props"><template v-if="props.row.done !== null"><span class="t-bar" aria-hidden="true">
        <i :style="{width: props.row.done + '%'}"></i></span>{{ props.row.done }} %</template></q-td>""",
    "promise": """<q-td :props="props"><span :class="'t-' + props.row.promise_tone">{{ props.row.promise }}</span>
        <div v-if="props.row.promised" class="t-small"><time :datetime="props.row.promised"></time></div></q-td>""",
    "deadline": """<q-td :props="props">
        <time v-if="props.row.deadline" :datetime="props.row.deadline"></time></q-td>""",
    "ended": """<q-td :props="props"><time v-if="props.row.ended" :datetime="props.row.ended"></time>
        <span v-else-if="props.row.eta" class="t-muted">about <time :datetime="props.row.eta"></time></span></q-td>""",
    "submitted": """<q-td :props="props"><time :datetime="props.row.submitted"></time></q-td>""",
}
SELECT = """<q-checkbox v-model="props.selected" dense :aria-label="'Select ' + props.row.name" />"""
SELECT_ALL = """<q-checkbox v-model="props.selected" dense aria-label="Select all of this page" />"""


def add(site: Site) -> None:
    """Put the page on the site."""

    @ui.page("/jobs", response_timeout=20)
    async def jobs(request: Request) -> None:
        user = request.state.visitor.user
        live = Live(site.news)
        with frame("Jobs", "/jobs", user):
            page = Jobs(site, site.ask(request), view_in(request.query_params), user)
        await page.draw()
        live.part(page.draw, wants=lambda event: bool(event.job), least=1.0, every=5.0)


class Jobs:
    """The filters and the table."""

    def __init__(self, site: Site, ask: AsyncClient, view: TableView, user: str) -> None:
        self._site = site
        self._ask = ask
        self._view = view
        with card():
            self._add_filters(user)
            self._add_acts()
            self._table = self._made_table()
            with ui.column().classes("t-empty w-full items-center") as self._no_job:
                ui.html(f"No job yet. {link('/submit', 'Submit the first one')}", sanitize=False)
            with ui.column().classes("t-empty w-full items-center") as self._no_match:
                ui.label("Nothing matches.")
                ui.button("Clear the filters", on_click=self._clear).props("flat no-caps")

    def _add_filters(self, user: str) -> None:
        view = self._view
        with ui.row().classes("w-full items-start gap-3"):
            self._text = (
                ui.input("Name or id", value=view.text, on_change=self._filter)
                .props("dense outlined clearable debounce=300 hide-bottom-space")
                .classes("t-search t-field")
            )
            self._states = (
                ui.select(
                    [str(state) for state in STANDING],
                    label="State",
                    value=list(view.states),
                    multiple=True,
                    on_change=self._filter,
                )
                .props("dense outlined options-dense clearable use-chips")
                .classes("t-field")
            )
            self._owner = (
                ui.input("Owner", value=view.owner, autocomplete=[user], on_change=self._filter)
                .props("dense outlined clearable debounce=300 hide-bottom-space")
                .classes("t-field")
            )
            self._label = (
                ui.input(
                    "Label", value=", ".join(view.labels), placeholder="team=vision", on_change=self._filter
                )
                .props("dense outlined clearable debounce=300 hide-bottom-space")
                .classes("t-field")
            )

    def _add_acts(self) -> None:
        with ui.row().classes("w-full items-center gap-3"):
            self._count = ui.label().classes("t-muted").props("role=status")
            ui.space()
            with ui.row().classes("items-center gap-2") as self._acts:
                self._selected = ui.label()
                ui.button("Cancel jobs", on_click=self._cancel).props("outline dense no-caps color=negative")
                ui.button("Clear", on_click=self._unselect).props("flat dense no-caps")
            self._acts.set_visibility(False)
            ui.html(link("/submit", "Submit a job"), sanitize=False)

    def _made_table(self) -> ui.table:
        table = ui.table(
            columns=COLUMNS,
            rows=[],
            row_key="id",
            selection="multiple",
            pagination=self._pagination(0),
            on_select=self._selection_changed,
        )
        table.props(
            f':rows-per-page-options="{list(ROWS)}" binary-state-sort flat wrap-cells dense color=primary'
        )
        table.classes("w-full t-jobs")
        table.add_slot("header-selection", SELECT_ALL)
        table.add_slot("body-selection", SELECT)
        for name, template in SLOTS.items():
            table.add_slot(f"body-cell-{name}", template)
        table.on("request", self._turned)
        return table

    def _pagination(self, of: int) -> dict[str, Any]:
        view = self._view
        return {
            "sortBy": str(view.order),
            "descending": view.descending,
            "page": view.page,
            "rowsPerPage": view.rows,
            "rowsNumber": of,
        }

    async def draw(self) -> None:
        """The part of the table that is looked at."""
        view = self._view
        try:
            told = await self._site.once(("job table", view), lambda: self._ask.job_table(**view.query()))
        except InputInvalid as error:
            self._label.error = f"{error.problem}. {error.remedy}"
            return
        if view != self._view:
            return  # meanwhile the visitor has turned to another part
        self._label.error = None
        if told.of and not told.items:
            self._view = view.within(told.of)
            await self.draw()
        else:
            self._show([row_of(job) for job in told.items], told.of)

    def _show(self, rows: list[dict[str, Any]], of: int) -> None:
        pagination = self._pagination(of)
        if rows != self._table.rows:
            self._table.rows = rows
        if pagination != self._table.pagination:
            self._table.pagination = pagination
        self._count.set_text(counted(of))
        self._table.set_visibility(of > 0)
        self._no_job.set_visibility(of == 0 and not self._view.is_filtered)
        self._no_match.set_visibility(of == 0 and self._view.is_filtered)

    async def _look_at(self, view: TableView) -> None:
        if view == self._view:
            return
        self._view = view
        await self.draw()
        ui.navigate.history.replace(self._view.address())

    async def _filter(self) -> None:
        await self._look_at(
            replace(
                self._view,
                states=tuple(self._states.value or ()),
                owner=(self._owner.value or "").strip(),
                labels=labels_in(self._label.value or ""),
                text=(self._text.value or "").strip(),
                page=1,
            )
        )

    async def _clear(self) -> None:
        for field in (self._text, self._owner, self._label):
            field.value = ""
        self._states.value = []
        await self._filter()

    async def _turned(self, event: GenericEventArguments) -> None:
        """To another page, or another order."""
        wanted = event.args["pagination"]
        await self._look_at(
            replace(
                self._view,
                order=wanted["sortBy"] or self._view.order,
                descending=bool(wanted["descending"]),
                page=int(wanted["page"]),
                rows=int(wanted["rowsPerPage"]),
            )
        )

    def _selection_changed(self) -> None:
        chosen = len(self._table.selected)
        self._selected.set_text(f"{chosen} selected")
        self._acts.set_visibility(chosen > 0)

    def _unselect(self) -> None:
        self._table.selected = []
        self._selection_changed()

    async def _cancel(self) -> None:
        chosen = {row["id"]: row["name"] for row in self._table.selected}
        if not chosen or not await confirmed(f"Cancel {counted(len(chosen))}?", "Cancel jobs"):
            return
        room = asyncio.Semaphore(AT_ONCE)

        async def cancelled(job: str, name: str) -> Outcome:
            try:
                async with room:
                    await self._ask.cancel(job)
            except TenutoError as error:
                return Outcome(name, str(error))
            return Outcome(name)

        outcomes = await asyncio.gather(*(cancelled(job, name) for job, name in chosen.items()))
        self._unselect()
        _tell(outcomes)
        await self.draw()


def _tell(outcomes: list[Outcome]) -> None:
    """What came of it, and which were refused and why."""
    told, refused = told_outcomes(outcomes, "being cancelled"), refusals(outcomes)
    if not refused:
        ui.notify(told, type="positive")
        return
    with ui.dialog(value=True) as dialog, ui.card():
        ui.label(told).classes("t-title")
        for line in refused:
            ui.label(line)
        ui.button("Close", on_click=dialog.close).props("flat no-caps").classes("self-end")
    dialog.on("hide", dialog.delete)
