"""Scaling a job: one more, one fewer, a slider, node by node, and leaving it to the policy again."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from nicegui import ui

from tenuto.client.asynchronous import AsyncClient
from tenuto.dashboard.acting import acted, tell_trouble
from tenuto.dashboard.frame import card
from tenuto.dashboard.job.sizing import NodeLine, node_lines, sizes
from tenuto.dashboard.job.widgets import Press
from tenuto.dashboard.wording import link, node_path, sentence
from tenuto.errors import TenutoError
from tenuto.wire.overview import MapOut
from tenuto.wire.replies import JobOut

FEWER, MORE = "\N{MINUS SIGN}1", "+1"
QUIET = 1.5
"""Seconds after which a slider that was moved shows the size again that the job has."""
Shown = Callable[[JobOut], None]


@dataclass(frozen=True, slots=True)
class _NodeRow:
    """The elements of one node."""

    workers: ui.label
    free: ui.label
    fewer: Press
    more: Press


class Scaling:
    """Its buttons ask; what comes of it is shown when it has happened."""

    def __init__(self, ask: AsyncClient, job: JobOut, changed: Shown) -> None:
        self._ask = ask
        self._job = job
        self._changed = changed
        self._map: MapOut | None = None
        self._nodes: dict[str, _NodeRow] = {}
        self._touched = -QUIET
        """When the slider was moved last."""
        with card("Workers"):
            self._standing = ui.label().classes("t-muted")
            with ui.row().classes("w-full items-center gap-3 no-wrap"):
                self._fewer = Press(FEWER, f"{FEWER} worker", partial(self._by, -1))
                self._slider = ui.slider(min=job.min_workers, max=max(job.max_workers, job.min_workers + 1))
                self._slider.props('label snap aria-label="Number of workers"').classes("t-slider")
                self._slider.on("update:model-value", self._touch, [])
                self._slider.on("change", lambda event: self._to(int(event.args)))
                self._more = Press(MORE, f"{MORE} worker", partial(self._by, 1))
                self._auto = Press("auto", "Let the policy decide", self._release, "flat")
            self._size = ui.label().classes("t-size")
            self._list = ui.element("div").classes("t-nodes w-full")
            self._search = ui.input(placeholder="Find a node", on_change=self._draw_nodes)
            self._search.props('dense outlined clearable aria-label="Find a node"').classes("t-narrow")
            self._rest = ui.label().classes("t-muted")

    def show(self, job: JobOut, found: MapOut) -> None:
        """The sizes that it can be given now."""
        self._job, self._map = job, found
        can = sizes(job)
        self._standing.set_text(can.standing)
        many = "worker" if job.workers == 1 else "workers"
        self._size.set_text(f"{job.workers} {many} now, {can.range} possible")
        for press, button in ((self._fewer, can.fewer), (self._more, can.more), (self._auto, can.auto)):
            press.show(button)
        self._slider.set_enabled(can.slide.works)
        if time.monotonic() > self._touched + QUIET:  # else whoever drags it would lose it
            self._slider.set_value(can.size)
        self._draw_nodes()

    def _draw_nodes(self) -> None:
        if self._map is None:
            return
        lines, more = node_lines(self._job, self._map, self._search.value or "")
        if list(self._nodes) != [line.node for line in lines]:
            self._list.clear()
            with self._list:
                self._nodes = {line.node: self._row(line) for line in lines}
        for line in lines:
            row = self._nodes[line.node]
            coming = "" if line.wanted == line.workers else f" (→ {line.wanted})"
            row.workers.set_text(f"{line.workers}{coming}")
            state = "" if line.state == "online" else f", {line.state}"
            row.free.set_text(f"{line.free} of {line.slots} free{state}")
            row.fewer.show(line.fewer)
            row.more.show(line.more)
        self._search.set_visibility(more > 0 or bool(self._search.value))
        self._rest.set_visibility(more > 0)
        self._rest.set_text(f"{more} more nodes have free slots.")

    def _row(self, line: NodeLine) -> _NodeRow:
        with ui.element("div").classes("t-node-row"):
            ui.html(link(node_path(line.node), line.node), sanitize=False).classes("t-node-name")
            free = ui.label().classes("t-muted t-wide")
            fewer = Press(FEWER, f"{FEWER} on {line.node}", partial(self._by, -1, line.node), "flat")
            workers = ui.label().classes("t-count")
            workers.props["aria-label"] = f"Workers on {line.node}"
            more = Press(MORE, f"{MORE} on {line.node}", partial(self._by, 1, line.node), "flat")
        return _NodeRow(workers, free, fewer, more)

    def _touch(self) -> None:
        self._touched = time.monotonic()

    async def _by(self, delta: int, node: str | None = None) -> None:
        where = "" if node is None else f" on {node}"
        word = "One worker more" if delta > 0 else "One worker fewer"
        await self._scale(f"{word}{where}: asked for.", delta=delta, node=node)

    async def _to(self, workers: int) -> None:
        if workers != sizes(self._job).size:
            await self._scale(f"{workers} workers: asked for.", workers=workers)

    async def _release(self) -> None:
        await self._scale("The policy decides again.", workers="auto")

    async def _scale(self, done: str, **wish: Any) -> None:
        try:
            job = await self._ask.scale(self._job.id, **wish)
        except TenutoError as error:
            if error.code != "would_break_promises":
                tell_trouble(str(error))
                return
            if not await _all_the_same(getattr(error, "problem", str(error))):
                return
            await self._shown(
                self._ask.scale(self._job.id, force=True, **wish), f"{done} Promises are at risk."
            )
            return
        ui.notify(done, type="positive")
        self._changed(job)

    async def _shown(self, doing: Awaitable[JobOut], done: str) -> None:
        job = await acted(doing, done)
        if job is not None:
            self._changed(job)


async def _all_the_same(problem: str) -> bool:
    """Whether it shall be done although promises break."""
    what, _, whose = problem.partition(": ")
    with ui.dialog() as dialog, ui.card().classes("gap-2").props('aria-label="Promises would break"'):
        ui.label(f"{what[:1].upper()}{what[1:]}").classes("t-title")
        listed = "".join(f"<li>{sentence(one)}</li>" for one in whose.split("; "))
        ui.html(f'<ul class="t-list">{listed}</ul>', sanitize=False)
        ui.label("If it is done all the same, the breach is recorded with your name.").classes("t-muted")
        with ui.row().classes("w-full justify-end"):
            ui.button("No", on_click=lambda: dialog.submit(False)).props("flat no-caps")
            ui.button("Do it all the same", on_click=lambda: dialog.submit(True)).props(
                "color=negative no-caps"
            )
    try:
        return bool(await dialog)
    finally:
        dialog.delete()
