"""Overview: the cluster at a glance."""

from __future__ import annotations

import asyncio
from datetime import datetime

from nicegui import ui
from starlette.requests import Request

from tenuto.dashboard.attention import MOST, concerns
from tenuto.dashboard.cluster_charts import efficiency_chart, jobs_chart
from tenuto.dashboard.event_lines import event_lines, jobs_in
from tenuto.dashboard.frame import card, frame
from tenuto.dashboard.joining import how_to_join
from tenuto.dashboard.live import Live
from tenuto.dashboard.names import JobNames
from tenuto.dashboard.over_time import BY_LABEL, Span
from tenuto.dashboard.overview_text import attention, legend, policy, promises, queue, slots
from tenuto.dashboard.site import Site
from tenuto.dashboard.slot_map import largest, picture, use_of
from tenuto.dashboard.slot_map_element import SlotMap
from tenuto.dashboard.span_toggle import span_toggle
from tenuto.wire.quantities import rfc3339
from tenuto.wire.replies import JobOut

EVENTS = 12
LEGEND = 10
A_DAY = 86_400.0
CHARTS_EVERY = 10.0
"""Seconds: the history has a point of the cluster that often."""


def add(site: Site) -> None:
    """Put the page on the site."""
    names = JobNames()

    @ui.page("/", response_timeout=20)
    async def overview(request: Request) -> None:
        live = Live(site.news)
        with frame("Overview", "/", request.state.visitor.user):
            page = Overview(site, request, names)
        await asyncio.gather(page.draw_figures(), page.draw_map(), page.draw_events(), page.draw_charts())
        live.part(page.draw_figures, least=1.0, every=15.0)
        live.part(page.draw_map, least=1.0)
        live.part(page.draw_events)
        live.part(page.draw_charts, wants=lambda _: False, every=CHARTS_EVERY)


class Overview:
    """The parts of the page."""

    def __init__(self, site: Site, request: Request, names: JobNames) -> None:
        self._site = site
        self._ask = site.ask(request)
        self._names = names
        self._span = BY_LABEL["1 h"]
        with ui.row().classes("w-full gap-4 items-stretch t-figures"):
            self._slots = _figure("Slots")
            self._promises = _figure("Promises")
            self._queue = _figure("Queue")
            self._policy = _figure("Policy")
        with card("Who is where"):
            self._map = SlotMap()
            self._legend = ui.html(sanitize=False)
            self._no_node = how_to_join(request)
        with ui.row().classes("w-full items-center gap-2"):
            ui.label("Over time").classes("t-title").props("role=heading aria-level=2")
            span_toggle(self._span, self._another_span)
        with ui.row().classes("w-full gap-4 t-halves"):
            with card("Efficiency"):
                self._efficiency = ui.echart({"series": []}).classes("t-chart")
            with card("Jobs"):
                self._jobs = ui.echart({"series": []}).classes("t-chart")
        with ui.row().classes("w-full gap-4 items-start t-halves"):
            with card("Needs attention"):
                ui.link_target("attention").classes("absolute")
                self._attention = ui.html(sanitize=False).classes("w-full")
            with card("Latest events"):
                self._events = ui.html(sanitize=False).classes("w-full")

    async def draw_figures(self) -> None:
        """Promises, the queue, the policy, and who needs somebody."""
        told = await self._site.once(
            "overview by need",
            lambda: self._ask.overview(nodes=0, gpus=0, jobs=MOST, jobs_by="need"),
        )
        failed = await self._site.once("failed", self._failed)
        self._promises.set_content(promises(told))
        self._queue.set_content(queue(told))
        self._policy.set_content(policy(told))
        since = rfc3339(datetime.fromisoformat(told.cluster.now).timestamp() - A_DAY)
        self._attention.set_content(
            attention(concerns(told.jobs, failed, since), sum(told.cluster.jobs.values()))
        )

    async def _failed(self) -> list[JobOut]:
        found: list[JobOut] = []
        async for job in self._ask.jobs(state="failed,lost", limit=MOST):
            found.append(job)
            if len(found) == MOST:
                break
        return found

    async def draw_map(self) -> None:
        """The slots, and who is on them."""
        told = await self._site.once("map", self._ask.cluster_map)
        self._names.learn({job.id: job.name for job in told.jobs})
        self._map.show(picture(told))
        self._legend.set_content(legend(largest(told, LEGEND)))
        self._no_node.set_visibility(not told.nodes)
        self._slots.set_content(slots(use_of(told), len(told.nodes)))

    async def draw_events(self) -> None:
        """What happened lately."""
        events = await self._site.once("events", lambda: self._ask.last_events(EVENTS))
        names = await self._names.of(self._ask, jobs_in(events))
        self._events.set_content(
            event_lines(events, names) if events else '<div class="t-empty">Nothing has happened yet.</div>'
        )

    async def draw_charts(self) -> None:
        """What the history has of the cluster."""
        span = self._span
        numbers = await self._site.once(
            ("cluster numbers", span),
            lambda: self._ask.numbers(
                "cluster", since=f"{span.seconds:.0f}s", step=f"{span.step:.0f}", points=400
            ),
            5.0,
        )
        now = datetime.fromisoformat(numbers.until).timestamp()
        for chart, options in (
            (self._efficiency, efficiency_chart(numbers, span, now)),
            (self._jobs, jobs_chart(numbers, span, now)),
        ):
            chart.options.clear()
            chart.options.update(options)
            chart.update()

    async def _another_span(self, span: Span) -> None:
        self._span = span
        await self.draw_charts()


def _figure(title: str) -> ui.html:
    with card(title):
        return ui.html(sanitize=False).mark(title.lower())
