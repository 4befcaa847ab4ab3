"""Nodes: what each of them is doing, sorted and cut by the server."""

from __future__ import annotations

from typing import Any

from nicegui import ui
from nicegui.events import GenericEventArguments, ValueChangeEventArguments
from starlette.requests import Request

from tenuto.dashboard.frame import card, frame
from tenuto.dashboard.joining import how_to_join
from tenuto.dashboard.live import Live
from tenuto.dashboard.node_acts import drain, undrain
from tenuto.dashboard.node_rows import COLUMNS, order_of, row_of
from tenuto.dashboard.site import Site

ROWS = 25
PERIOD = 2.0
"""Seconds between two drawings, however many nodes tell something."""
_NAME = """<q-td :props="props"><a :href="props.row.path">{{ props.row.name }}</a>
<div v-if="props.row.trouble" class="t-bad">{{ props.row.trouble }}</div></q-td>"""
_STATE = '<q-td :props="props"><span :class="props.row.tone">{{ props.row.state }}</span></q-td>'
_ACT = """<q-td :props="props">
<q-btn v-if="props.row.state === 'online'" flat dense no-caps size="sm" label="Drain"
  :aria-label="'Drain ' + props.row.name" @click="$parent.$emit('drain', props.row.name)" />
<q-btn v-if="props.row.state === 'draining'" flat dense no-caps size="sm" label="Undrain"
  :aria-label="'Undrain ' + props.row.name" @click="$parent.$emit('undrain', props.row.name)" /></q-td>"""


def add(site: Site) -> None:
    """Put the page on the site."""

    @ui.page("/nodes", response_timeout=20)
    async def nodes(request: Request) -> None:
        live = Live(site.news)
        with frame("Nodes", "/nodes", request.state.visitor.user):
            page = Nodes(site, request)
        await page.draw()
        live.part(page.draw, node="*", least=PERIOD, every=15.0)


class Nodes:
    """The parts of the page."""

    def __init__(self, site: Site, request: Request) -> None:
        self._site = site
        self._ask = site.ask(request)
        self._text = ""
        self._shown: dict[str, Any] = {"sortBy": None, "descending": False, "page": 1, "rowsPerPage": ROWS}
        with card():
            with ui.row().classes("w-full items-center gap-4"):
                self._count = ui.label().classes("t-title").props("role=heading aria-level=2")
                ui.space()
                ui.input("Search", on_change=self._searched).props(
                    "dense outlined clearable debounce=250"
                ).classes("t-search")
            self._nobody = how_to_join(request)
            self._table = self._made_table()

    def _made_table(self) -> ui.table:
        table = ui.table(
            columns=[dict(column) for column in COLUMNS],
            rows=[],
            row_key="name",
            pagination={**self._shown, "rowsNumber": 0},
        ).classes("w-full")
        table.props('flat dense :rows-per-page-options="[10, 25, 50, 100]"')
        table.add_slot("body-cell-name", _NAME)
        table.add_slot("body-cell-state", _STATE)
        table.add_slot("body-cell-act", _ACT)
        table.on("request", self._asked)
        table.on("drain", self._drain)
        table.on("undrain", self._undrain)
        return table

    async def draw(self) -> None:
        """The rows that are looked at."""
        shown, text = self._shown, self._text
        count, first = shown["rowsPerPage"], (shown["page"] - 1) * shown["rowsPerPage"]
        by = order_of(shown["sortBy"], shown["descending"])
        told = await self._site.once(
            ("nodes", text, count, first, by),
            lambda: self._ask.overview(text=text, nodes=count, nodes_from=first, nodes_by=by, gpus=0, jobs=0),
        )
        number, states = sum(told.cluster.nodes.values()), told.cluster.nodes
        self._count.set_text(", ".join(f"{states[state]} {state}" for state in states if states[state]))
        self._nobody.set_visibility(number == 0)
        self._table.set_visibility(number > 0)
        self._table.rows = [row_of(node) for node in told.nodes]
        self._table.pagination = {**shown, "rowsNumber": told.of.nodes}

    async def _asked(self, event: GenericEventArguments) -> None:
        wanted = event.args["pagination"]
        self._shown = {key: wanted.get(key) for key in self._shown}
        await self.draw()

    async def _searched(self, event: ValueChangeEventArguments[str | None]) -> None:
        self._text = (event.value or "").strip()[:100]
        self._shown["page"] = 1
        await self.draw()

    async def _drain(self, event: GenericEventArguments) -> None:
        if await drain(self._ask, event.args):
            await self.draw()

    async def _undrain(self, event: GenericEventArguments) -> None:
        if await undrain(self._ask, event.args):
            await self.draw()
