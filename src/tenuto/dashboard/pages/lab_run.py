"""A run of the laboratory: how far it is, what came out of it, and the files."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from nicegui import app, ui
from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response

from tenuto.dashboard.acting import acted, confirmed
from tenuto.dashboard.frame import card, empty, frame
from tenuto.dashboard.lab.charts import admitted_chart, allocated_chart, jct_chart, ratio_chart
from tenuto.dashboard.lab.record import Run, State
from tenuto.dashboard.lab.rows import COLUMNS, numbers_of, remarks_on, result_rows, told_of, tone
from tenuto.dashboard.lab.runs import LabRuns
from tenuto.dashboard.live import Live
from tenuto.dashboard.site import Site
from tenuto.dashboard.wording import moment
from tenuto.errors import NotFound
from tenuto.lab.orders import DIGEST, DRAWN, EXPERIMENT, REPORTS
from tenuto.wire.quantities import rfc3339

_FILE = re.compile(r"(report\.(csv|json)|experiment\.yaml|figure-[\w-]+\.(png|svg|csv))")
"""What of a run's directory may be downloaded."""
_NUMBERS = ("panel", "series", "x", "value", "published", "note")


def add(site: Site, runs: LabRuns) -> None:
    """Put the page, and the files of runs, on the site."""

    @ui.page("/lab/{run}", response_timeout=20)
    async def lab_run(request: Request, run: str) -> None:
        live = Live(site.news)
        user = request.state.visitor.user
        try:
            known = runs.get(run)
        except NotFound:
            with frame("Lab", "/lab", user), card():
                empty("There is no such run; the oldest are removed when there are many.")
                ui.html('<a class="t-link" href="/lab">All runs</a>', sanitize=False)
            return
        with frame(known.title, "/lab", user):
            page = FigurePage(runs, known) if known.figure else ReplayPage(runs, known)
        await page.draw()
        live.part(page.draw, wants=lambda _: False)
        ui.context.client.on_delete(runs.listen(live.redraw))

    @app.get("/lab/{run}/{name}")
    async def file(run: str, name: str) -> Response:
        try:
            path = runs.directory(run) / name
        except NotFound as error:
            return PlainTextResponse(str(error), 404)
        if not _FILE.fullmatch(name) or not await asyncio.to_thread(path.is_file):
            return PlainTextResponse("There is no such file.", 404)
        # To be saved, never as a page of ours: drawings may hold scripts. An <img> shows them all the same.
        return FileResponse(path, filename=f"{run}-{name}")


class RunPage:
    """What runs of all kinds show: the state, and what can be done about it."""

    def __init__(self, runs: LabRuns, run: Run) -> None:
        self._runs = runs
        self._id = run.id
        self._drawn: object = None
        with card() as self._head:
            with ui.row().classes("w-full items-center gap-4"):
                self._state = ui.label().classes("t-figure")
                ui.html(f"{moment(rfc3339(run.created), ago=True)}", sanitize=False).classes("t-muted")
                ui.label(f"by {run.user}").classes("t-muted")
                ui.label(run.rules).classes("t-muted")
                ui.space()
                self._cancel = ui.button("Cancel", icon="stop", on_click=self._cancel_it)
                self._go_on = ui.button("Go on", icon="play_arrow", on_click=self._go_on_with_it)
                self._remove = ui.button("Remove", icon="delete", on_click=self._remove_it)
                for button in (self._cancel, self._go_on, self._remove):
                    button.props("outline dense no-caps padding='2px 10px'")
            self._bar = ui.linear_progress(0, show_value=False, size="8px")
            self._bar.props('rounded aria-label="Progress"')
            self._doing = ui.label().classes("t-muted")
            self._trouble = ui.label().classes("t-bad").props("role=alert").style("white-space: pre-wrap")
            self._files = ui.html(sanitize=False)

    async def draw(self) -> None:
        """As things stand now."""
        try:
            run = self._runs.get(self._id)
        except NotFound:
            self._state.set_text("removed")
            return
        self._state.set_text(told_of(run))
        self._state.classes(replace=f"t-figure {tone(run.state)}")
        self._bar.set_value(run.part)
        self._bar.set_visibility(run.state.live)
        for label, text in ((self._doing, run.doing or " ".join(run.remarks)), (self._trouble, run.trouble)):
            label.set_text(text)
            label.set_visibility(bool(text))
        self._cancel.set_visibility(run.state.live)
        self._go_on.set_visibility(not run.state.live and run.state is not State.DONE)
        self._remove.set_visibility(not run.state.live)
        # What there is to see changes when a replay ends.
        if self._drawn != (run.state, run.finished):
            self._drawn = (run.state, run.finished)
            await self.draw_results(self._runs.directory(self._id))

    async def draw_results(self, directory: Path) -> None:
        """What came out."""
        raise NotImplementedError

    def _offer_files(self, names: Sequence[str]) -> None:
        links = " · ".join(f'<a class="t-link" href="/lab/{self._id}/{name}">{name}</a>' for name in names)
        self._files.set_content(links)

    async def _cancel_it(self) -> None:
        await acted(self._runs.cancel(self._id), "Cancelled; what is finished stays.")

    async def _go_on_with_it(self) -> None:
        await acted(self._runs.go_on(self._id), "It goes on with the rest.")

    async def _remove_it(self) -> None:
        if await confirmed("Remove this run and all its files?", "Remove"):
            await acted(self._runs.remove(self._id))
            ui.navigate.to("/lab")


class ReplayPage(RunPage):
    """A trace under policies."""

    def __init__(self, runs: LabRuns, run: Run) -> None:
        super().__init__(runs, run)
        columns = [
            {"name": name, "label": label, "field": name, "align": "left" if name == "policy" else "right"}
            for name, label in COLUMNS.items()
        ]
        with card("Results") as self._results:
            self._remarks = ui.label().classes("t-muted").style("white-space: pre-line")
            self._table = ui.table(columns=columns, rows=[], row_key="policy").classes("w-full")
            self._table.props('flat dense hide-pagination :rows-per-page-options="[0]"')
        with ui.element("div").classes("w-full").style(_GRID) as self._charts:
            self._ratio = _chart("Deadlines met")
            self._allocated = _chart("Slots in use")
            self._admitted = _chart("Jobs submitted and let in")
            self._jct = _chart("Jobs done within a time")

    async def draw_results(self, directory: Path) -> None:
        """The table and the charts, as far as there are results."""
        told = await asyncio.to_thread(_json, directory / DIGEST)
        tellings = told.get("tellings", [])
        there = [name for name in (*REPORTS, EXPERIMENT) if (directory / name).is_file()]
        self._offer_files(there)
        self._results.set_visibility(bool(tellings))
        self._charts.set_visibility(bool(tellings))
        if not tellings:
            return
        self._table.rows = result_rows(tellings)
        self._table.update()
        self._remarks.set_text("\n".join(remarks_on(told["past"])))
        self._remarks.set_visibility(bool(self._remarks.text))
        zero = told["zero"]
        _show(self._ratio, ratio_chart(tellings))
        _show(self._allocated, allocated_chart(tellings, zero))
        _show(self._admitted, admitted_chart(tellings, zero))
        _show(self._jct, jct_chart(tellings))


class FigurePage(RunPage):
    """A figure of the paper."""

    def __init__(self, runs: LabRuns, run: Run) -> None:
        super().__init__(runs, run)
        with card() as self._picture_card:
            self._remarks = ui.label().classes("t-muted").style("white-space: pre-line")
            self._picture = ui.html(sanitize=False).classes("w-full")
        with card("Its numbers") as self._numbers_card:
            columns = [{"name": name, "label": name, "field": name, "align": "left"} for name in _NUMBERS]
            self._table = ui.table(columns=columns, rows=[], pagination=25).classes("w-full")
            self._table.props("flat dense")
            self._more = ui.label("There are more; the file has all of them.").classes("t-muted")

    async def draw_results(self, directory: Path) -> None:
        """The picture and its numbers, once it is drawn."""
        told = await asyncio.to_thread(_json, directory / DRAWN)
        self._picture_card.set_visibility(bool(told))
        self._numbers_card.set_visibility(bool(told))
        if not told:
            return
        numbers, picture, _ = told["files"]
        self._offer_files(told["files"])
        said = [f"not there: {name}" for name in told["missing"]] + told["remarks"]
        self._remarks.set_text("\n".join(said))
        # Pictures of papers are black on white.
        self._picture.set_content(
            f'<img src="/lab/{self._id}/{picture}" alt="The figure" '
            'style="max-width:100%;background:#fff;border-radius:6px">'
        )
        rows, more = await asyncio.to_thread(_numbers, directory / numbers)
        self._table.rows = rows
        self._table.update()
        self._more.set_visibility(more)


_GRID = "display: grid; gap: 16px; grid-template-columns: repeat(auto-fit, minmax(min(100%, 480px), 1fr))"


def _chart(title: str) -> ui.echart:
    with card(title):
        return ui.echart({"series": []}).classes("w-full").style("height: 280px")


def _show(chart: ui.echart, options: Mapping[str, Any]) -> None:
    chart.options.clear()
    chart.options.update(options)
    chart.update()


def _json(path: Path) -> dict[str, Any]:
    try:
        told: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    return told


def _numbers(path: Path) -> tuple[list[dict[str, str]], bool]:
    with path.open(encoding="utf-8", newline="") as stream:
        return numbers_of(stream)
