"""Node: its slots, its GPUs, what it is doing and has done, and the buttons to take it out of use."""

from __future__ import annotations

import asyncio
from html import escape

from nicegui import ui
from starlette.requests import Request

from tenuto.dashboard.event_lines import event_lines, jobs_in
from tenuto.dashboard.frame import card, empty, frame
from tenuto.dashboard.live import Live
from tenuto.dashboard.names import JobNames
from tenuto.dashboard.node_acts import drain, remove, undrain
from tenuto.dashboard.node_history import NodeHistory
from tenuto.dashboard.node_text import GPU_COLUMNS, about, cores, gpu_rows, gpu_trouble, jobs_on, slots
from tenuto.dashboard.site import Site
from tenuto.dashboard.wording import link
from tenuto.errors import NotFound
from tenuto.model.event import Event
from tenuto.wire.sample import NodeSample

EVENTS = 20
_GPU = """<q-td :props="props">{{ props.row.gpu }}
<span v-if="props.row.lost" class="t-bad">lost</span></q-td>"""
_WHO = '<q-td :props="props"><span v-html="props.row.who"></span></q-td>'


def add(site: Site) -> None:
    """Put the page on the site."""
    names = JobNames()

    @ui.page("/nodes/{node}", response_timeout=20)
    async def node(request: Request, node: str) -> None:
        ask, live = site.ask(request), Live(site.news)
        with frame(node, "/nodes", request.state.visitor.user):
            try:
                await ask.node(node)
            except NotFound:
                return _nobody(node)
            page = NodePage(site, request, node, names)
        await asyncio.gather(page.draw_node(), page.draw_sample(), page.draw_events(), page.history.draw())
        live.part(page.draw_node, wants=page.is_concerned, every=30.0)
        live.part(page.draw_sample, wants=page.is_concerned, node=node, least=1.0)
        live.part(page.draw_events, wants=lambda event: event.node == node)
        live.part(page.history.go_on, wants=lambda _: False, node=node, least=1.0, every=15.0)
        return None


def _nobody(node: str) -> None:
    with card():
        empty(f"There is no node called {node}. It may have been forgotten, or have another name.")
        ui.html(
            f'<div style="text-align:center">{link("/nodes", "All nodes")}</div>', sanitize=False
        ).classes("w-full")


class NodePage:
    """The parts of the page."""

    def __init__(self, site: Site, request: Request, node: str, names: JobNames) -> None:
        self._site = site
        self._ask = site.ask(request)
        self._node = node
        self._names = names
        with ui.row().classes("w-full gap-4 items-stretch t-halves"):
            with card(node):
                self._about = ui.html(sanitize=False).mark("state")
                self._make_buttons()
            with card("Now"):
                self._cores = ui.html(sanitize=False).classes("w-full")
        with card("GPUs") as self._gpus:
            self._gpu_trouble = ui.label().classes("t-bad").props("role=alert")
            self._gpu_table = ui.table(columns=list(GPU_COLUMNS), rows=[], row_key="index").classes("w-full")
            self._gpu_table.props("flat dense").add_slot("body-cell-gpu", _GPU)
            self._gpu_table.add_slot("body-cell-who", _WHO)
        self.history = NodeHistory(site, self._ask, node)
        with ui.row().classes("w-full gap-4 items-start t-halves"):
            with card("Slots"):
                self._slots = ui.html(sanitize=False).classes("w-full")
            with card("Events"):
                self._events = ui.html(sanitize=False).classes("w-full")

    def _make_buttons(self) -> None:
        with ui.row().classes("gap-2"):
            self._drain = ui.button("Drain", on_click=self._do_drain).props("outline no-caps")
            self._undrain = ui.button("Undrain", on_click=self._do_undrain).props("outline no-caps")
            self._remove = ui.button("Forget", on_click=self._do_remove).props(
                "outline no-caps color=negative"
            )

    def is_concerned(self, event: Event) -> bool:
        """Whether something happened to it, or to somebody who may come or go."""
        return event.node in ("", self._node)

    async def draw_node(self) -> None:
        """Its state, and who holds its slots."""
        try:
            node = await self._site.once(("node", self._node), lambda: self._ask.node(self._node))
        except NotFound:
            self._about.set_content('<div class="t-figure t-word t-bad">forgotten</div>')
            return
        names = await self._names.of(self._ask, node.jobs)
        self._about.set_content(about(node))
        self._slots.set_content(slots(node, names))
        self._drain.set_visibility(node.state == "online")
        self._undrain.set_visibility(node.state == "draining")
        self._remove.set_visibility(node.state != "online")

    async def draw_sample(self) -> None:
        """What it is doing now."""
        try:
            told = await self._site.once(
                ("sample", self._node), lambda: self._ask.node_sample(self._node), 0.5
            )
        except NotFound as error:
            self._cores.set_content(f'<div class="t-empty">{escape(str(error))}</div>')
            return
        await self._show(told.sample)

    async def _show(self, sample: NodeSample) -> None:
        names = await self._names.of(self._ask, jobs_on(sample))
        self._cores.set_content(cores(sample))
        self._gpus.set_visibility(bool(sample.gpus or sample.gpu_problem))
        self._gpu_trouble.set_text(gpu_trouble(sample))
        self._gpu_trouble.set_visibility(bool(gpu_trouble(sample)))
        self._gpu_table.rows = gpu_rows(sample, names)

    async def draw_events(self) -> None:
        """What happened to it."""
        events = await self._site.once(
            ("events", self._node), lambda: self._ask.last_events(EVENTS, node=self._node)
        )
        names = await self._names.of(self._ask, jobs_in(events))
        self._events.set_content(event_lines(events, names, about=self._node))

    async def _do_drain(self) -> None:
        if await drain(self._ask, self._node):
            await self.draw_node()

    async def _do_undrain(self) -> None:
        if await undrain(self._ask, self._node):
            await self.draw_node()

    async def _do_remove(self) -> None:
        if await remove(self._ask, self._node):
            ui.navigate.to("/nodes")
