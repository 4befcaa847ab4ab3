"""How a job went: everything on one time axis, and the step time of each worker."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any

from nicegui import ui

from tenuto.client.asynchronous import AsyncClient
from tenuto.dashboard.charts import time_chart
from tenuto.dashboard.frame import card, empty
from tenuto.dashboard.job.course import POINTS, RANGES, Course, Window, window
from tenuto.dashboard.job.happenings import marks
from tenuto.dashboard.job.held import held
from tenuto.dashboard.job.rows import MOST_VALUES, chart_rows, cpu_use, gpu_use, reported, step_times
from tenuto.dashboard.job.stacked import Row, height, stacked
from tenuto.dashboard.site import Site
from tenuto.errors import TenutoError
from tenuto.wire.replies import AttemptOut, EventOut, JobOut, NodeOut
from tenuto.wire.series import ColumnsOut

MOST_NODES = 16
"""Of which the use of GPUs is asked for."""
MOST_ATTEMPTS = 2000
MOST_PAGES = 4
_WHOLE = {"part": ["", "values"]}
_PIECES = {"part": ["worker:", "node:"], "names": "seconds,samples_per_second"}

Events = Callable[[], Awaitable[list[EventOut]]]


class Metrics:
    """Asks for what is new, and draws all of it."""

    def __init__(self, site: Site, ask: AsyncClient, events: Events, redraw: Callable[[], None]) -> None:
        self._site = site
        self._ask = ask
        self._events = events
        self._course = Course()
        self._nodes: dict[str, Course] = {}
        self._attempts: list[AttemptOut] = []
        self._attempts_of: tuple[object, ...] = ()
        """What the job was like when its attempts were asked for."""
        with card():
            with ui.row().classes("w-full items-center gap-3"):
                self._range = ui.toggle(list(RANGES), value=next(iter(RANGES)), on_change=redraw)
                self._range.props('no-caps unelevated padding="3px 12px" aria-label="Range"')
                self._values = ui.select([], multiple=True, label="Values", on_change=redraw)
                self._values.props("dense outlined options-dense use-chips").classes("t-narrow")
                self._values.set_visibility(False)
            self._nothing = ui.element("div").classes("w-full")
            with self._nothing:
                empty("No worker has told a step yet. A job that reports its steps has charts here.")
            self._chart = ui.echart({}).classes("w-full").mark("axis")
        with card("Seconds of a step, by worker") as self._workers_card:
            self._workers = ui.echart({}).classes("w-full h-56").mark("step-times")

    async def draw(self, job: JobOut) -> None:
        """Ask and draw."""
        seen = window(job, RANGES[str(self._range.value)], time.time())
        await self._ask_job(job, seen)
        rows = chart_rows(self._course, await self._use(job, seen), self._chosen(), seen)
        happened = marks(await self._events(), seen.since)
        self._nothing.set_visibility(not rows)
        self._chart.set_visibility(bool(rows))
        if rows:
            self._chart.style(f"height: {height(rows)}px")
            _put(self._chart, stacked(rows, happened, seen))
        times = step_times(self._course)
        self._workers_card.set_visibility(bool(times))
        if times:
            _put(self._workers, time_chart(times, unit="s", since=seen.since, until=seen.until))

    def _chosen(self) -> list[str]:
        """The reported values that have a chart; who reports many may choose."""
        names = reported(self._course)
        if self._values.options != names:
            before = [name for name in self._values.value or [] if name in names]
            self._values.set_options(names, value=before or names[:MOST_VALUES])
            self._values.set_visibility(len(names) > MOST_VALUES)
        return list(self._values.value or [])

    async def _ask_job(self, job: JobOut, seen: Window) -> None:
        since = self._course.since(seen)
        found = [
            item
            for parts in (_WHOLE, _PIECES)
            for item in await numbers(self._ask, "job", since, seen, name=job.id, **parts)
        ]
        self._course.add(found, since, seen)

    async def _use(self, job: JobOut, seen: Window) -> Row | None:
        """How busy its GPUs are; its nodes' processors, where it has none."""
        like = (job.generation, job.state, job.workers)
        if self._attempts_of != like:
            self._attempts_of, self._attempts = like, await newest_attempts(self._ask, job.id)
        names = list(dict.fromkeys(one.node for one in reversed(self._attempts)))[:MOST_NODES]
        nodes = {name: node for name in names if (node := await self._node(name)) is not None}
        gpus = held(self._attempts, nodes, seen.until)
        which = {"part": ["gpu:"], "names": "utilisation"} if gpus else {"part": [""], "names": "cpu"}
        for name in nodes:
            course = self._nodes.setdefault(name, Course())
            since = course.since(seen)
            course.add(await numbers(self._ask, "node", since, seen, name=name, **which), since, seen)
        return gpu_use(self._nodes, gpus) if gpus else cpu_use(self._nodes)

    async def _node(self, name: str) -> NodeOut | None:
        try:
            return await self._site.once(("node", name), lambda: self._ask.node(name), 30.0)
        except TenutoError:
            return None


async def numbers(ask: AsyncClient, kind: str, since: float, seen: Window, **which: Any) -> list[ColumnsOut]:
    """Columns of a time, as coarse as its window wants them."""
    if seen.until <= since:
        return []
    asked = {"since": f"{since:.3f}", "step": f"{seen.step:g}", "points": POINTS + 10, **which}
    if not seen.open:
        asked["until"] = f"{seen.until:.3f}"
    found: list[ColumnsOut] = []
    cursor: str | None = None
    for _ in range(MOST_PAGES):
        page = await ask.numbers(kind, **asked, cursor=cursor)
        found += page.items
        cursor = page.next
        if cursor is None:
            break
    return found


async def newest_attempts(ask: AsyncClient, job: str) -> list[AttemptOut]:
    """The starts of a job's workers, oldest first; of very many the newest."""
    found = [one async for one in ask.attempts(job)]
    return found[-MOST_ATTEMPTS:]


def _put(chart: ui.echart, options: dict[str, Any]) -> None:
    """Show other options, if they are others; where the visitor has zoomed to stays."""
    if chart.options != options:
        chart.options.clear()
        chart.options.update(options)
        chart.update()
