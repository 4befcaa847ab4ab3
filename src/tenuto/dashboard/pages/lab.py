"""Lab: replay a trace under policies, see earlier runs, draw the paper's figures."""

from __future__ import annotations

import asyncio

from nicegui import app, ui
from nicegui.events import GenericEventArguments
from starlette.requests import Request

from tenuto.dashboard.acting import acted, confirmed
from tenuto.dashboard.frame import card, empty, frame
from tenuto.dashboard.lab.inputs import Inputs
from tenuto.dashboard.lab.offers import SEMANTICS, FigureOffer, Offers, figure_order, look_around
from tenuto.dashboard.lab.rows import run_row
from tenuto.dashboard.lab.runs import LabRuns
from tenuto.dashboard.live import Live
from tenuto.dashboard.pages import lab_run
from tenuto.dashboard.pages.lab_form import LabForm
from tenuto.dashboard.site import Site

_RUN_COLUMNS = [
    {"name": "title", "label": "Run", "field": "title", "align": "left"},
    {"name": "state", "label": "State", "field": "told", "align": "left"},
    {"name": "user", "label": "By", "field": "user", "align": "left",
     "classes": "t-wide", "headerClasses": "t-wide"},
    {"name": "created", "label": "Begun", "field": "created", "align": "left",
     "classes": "t-wide", "headerClasses": "t-wide"},
    {"name": "acts", "label": "", "field": "id", "align": "right"},
]  # fmt: skip
_TITLE = """<q-td :props="props" style="white-space: normal">
<a :href="'/lab/' + props.row.id">{{ props.row.title }}</a></q-td>"""
_STATE = """<q-td :props="props"><div :class="props.row.tone">{{ props.row.told }}</div>
<q-linear-progress v-if="props.row.live" :value="props.row.part" :indeterminate="props.row.state == 'waiting'"
 color="primary" rounded size="6px" style="min-width: 90px" :aria-label="'Progress of ' + props.row.title" /></q-td>"""
_CREATED = """<q-td :props="props"><time class="t-ago" :datetime="props.row.created"></time></q-td>"""
_ACTS = """<q-td :props="props">
<q-btn v-if="props.row.live" flat dense size="sm" icon="stop" :aria-label="'Cancel ' + props.row.title"
 @click="() => $parent.$emit('cancel', props.row.id)"><q-tooltip>Cancel</q-tooltip></q-btn>
<q-btn v-if="props.row.stopped" flat dense size="sm" icon="play_arrow" :aria-label="'Go on with ' + props.row.title"
 @click="() => $parent.$emit('go_on', props.row.id)"><q-tooltip>Go on</q-tooltip></q-btn>
<q-btn v-if="!props.row.live" flat dense size="sm" icon="delete" :aria-label="'Remove ' + props.row.title"
 @click="() => $parent.$emit('remove', props.row.id)"><q-tooltip>Remove</q-tooltip></q-btn></q-td>"""


def add(site: Site) -> None:
    """Put the page on the site."""
    runs = LabRuns(site.directory)
    app.on_shutdown(runs.close)
    lab_run.add(site, runs)

    @ui.page("/lab", response_timeout=20)
    async def lab(request: Request) -> None:
        user = request.state.visitor.user
        live = Live(site.news)
        offers = await site.once("lab offers", lambda: asyncio.to_thread(look_around), 10.0)
        with frame("Lab", "/lab", user):
            if offers.trouble:
                ui.label(offers.trouble).classes("t-bad")
            LabForm(runs, offers, Inputs(site.ask(request)), user)
            page = LabPage(runs, offers, user)
        await page.draw()
        live.part(page.draw, wants=lambda _: False)
        ui.context.client.on_delete(runs.listen(live.redraw))


class LabPage:
    """Earlier runs, and figures."""

    def __init__(self, runs: LabRuns, offers: Offers, user: str) -> None:
        self._runs = runs
        self._offers = offers
        self._user = user
        with card("Runs"):
            self._table = ui.table(columns=_RUN_COLUMNS, rows=[], row_key="id").classes("w-full")
            self._table.props('flat dense hide-pagination :rows-per-page-options="[0]"')
            for name, slot in {"title": _TITLE, "state": _STATE, "created": _CREATED, "acts": _ACTS}.items():
                self._table.add_slot(f"body-cell-{name}", slot)
            self._table.on("cancel", self._cancel)
            self._table.on("go_on", self._go_on)
            self._table.on("remove", self._remove)
            with ui.column().classes("w-full") as self._none:
                empty("Nothing was run here yet. Choose a trace and policies above, and start.")
        self._build_figures()

    async def draw(self) -> None:
        """The list as it is now."""
        rows = [run_row(run) for run in self._runs.all()]
        if rows != self._table.rows:
            self._table.rows = rows
            self._table.update()
        self._table.set_visibility(bool(rows))
        self._none.set_visibility(not rows)

    async def _cancel(self, event: GenericEventArguments) -> None:
        await acted(self._runs.cancel(event.args), "Cancelled; what is finished stays.")

    async def _go_on(self, event: GenericEventArguments) -> None:
        await acted(self._runs.go_on(event.args), "It goes on with the rest.")

    async def _remove(self, event: GenericEventArguments) -> None:
        if await confirmed("Remove this run and all its files?", "Remove"):
            await acted(self._runs.remove(event.args), "Removed.")

    def _build_figures(self) -> None:
        with card("Figures of the ElasticFlow paper"):
            if self._offers.drawing:
                empty(self._offers.drawing)
                return
            with ui.row().classes("items-center gap-4"):
                self._semantics = ui.select(dict(SEMANTICS), value="", label="Semantics").classes("w-52")
                self._without = ui.checkbox("Without pollux, which takes minutes", value=True)
            with ui.element("div").classes("w-full").style("display: grid; gap: 2px"):
                for offer in self._offers.figures:
                    self._build_figure(offer)
            ui.label("12a and 12b are drawn from measurements: tenuto lab figure 12 --measured DIR").classes(
                "t-muted"
            )

    def _build_figure(self, offer: FigureOffer) -> None:
        with ui.row().classes("w-full items-center gap-3 no-wrap"):
            button = ui.button("Draw", on_click=lambda: self._draw_figure(offer))
            button.props(f'outline dense no-caps padding="2px 12px" aria-label="Draw figure {offer.name}"')
            button.classes("flex-none")
            button.set_enabled(offer.possible)
            with ui.column().classes("gap-0"):
                ui.label(offer.title)
                if offer.missing:
                    lacks = f"Not there: {', '.join(offer.missing)}. Add with: tenuto trace add FILE"
                    ui.label(lacks).classes("t-muted t-mono")

    async def _draw_figure(self, offer: FigureOffer) -> None:
        run = await acted(self._begin_figure(offer.name))
        if run is not None:
            ui.navigate.to(f"/lab/{run}")

    async def _begin_figure(self, name: str) -> str:
        order = figure_order(
            name, str(self._semantics.value), without_pollux=bool(self._without.value), offers=self._offers
        )
        rules = f"{SEMANTICS[order.compat or '']} semantics"
        return (await self._runs.begin(order, self._user, _nothing, title=f"Figure {name}", rules=rules)).id


async def _nothing(_: object) -> None:
    """A figure needs no inputs."""
