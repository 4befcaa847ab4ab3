"""The charts of a node's page: history on load, then what is new, as it comes."""

from __future__ import annotations

import asyncio
from datetime import datetime

from nicegui import ui

from tenuto.client.asynchronous import AsyncClient
from tenuto.dashboard.frame import card
from tenuto.dashboard.growing_chart import GrowingChart
from tenuto.dashboard.node_charts import (
    GPU_CHARTS,
    NODE_CHARTS,
    Chart,
    additions,
    gaps_between,
    last_moment,
    options,
    query_of,
    stretches,
)
from tenuto.dashboard.node_text import gap_lines
from tenuto.dashboard.over_time import BY_LABEL, Span
from tenuto.dashboard.site import Site
from tenuto.dashboard.span_toggle import span_toggle
from tenuto.wire.series import GapOut, NumbersOut

LONGEST_PAUSE = 30.0
"""Seconds between two looks at the history, however long a step is."""


class NodeHistory:
    """All charts of one node."""

    def __init__(self, site: Site, ask: AsyncClient, node: str) -> None:
        self._site = site
        self._ask = ask
        self._node = node
        self._span = BY_LABEL["10 min"]
        self._last: float | None = None
        self._due = 0.0
        self._gaps: dict[float, GapOut] = {}
        with ui.row().classes("w-full items-center gap-2"):
            ui.label("Over time").classes("t-title").props("role=heading aria-level=2")
            span_toggle(self._span, self._another_span)
        with ui.row().classes("w-full gap-4 t-thirds") as self._of_gpus:
            charts = {chart: _made(chart) for chart in GPU_CHARTS}
        with ui.row().classes("w-full gap-4 t-halves"):
            charts |= {chart: _made(chart) for chart in NODE_CHARTS}
        self._charts = charts
        self._missing = ui.html(sanitize=False)

    async def draw(self) -> None:
        """Draw everything from the history."""
        span = self._span
        numbers = await self._told(span, None)
        now = _now(numbers)
        for chart, drawn in self._charts.items():
            drawn.draw(options(chart, numbers, span, now))
        self._of_gpus.set_visibility(any(item.part.startswith("gpu:") for item in numbers.items))
        self._gaps.clear()
        self._went_on(numbers, now)

    async def go_on(self) -> None:
        """Add what is new, if it is time for a point."""
        if asyncio.get_running_loop().time() < self._due:
            return None
        if self._last is None:
            return await self.draw()
        span = self._span
        numbers = await self._told(span, self._last)
        now = _now(numbers)
        gaps = stretches(self._gaps_with(numbers, now))
        grown = [
            drawn.grow(additions(chart, numbers, span), gaps, span, now)
            for chart, drawn in self._charts.items()
        ]
        if not all(grown):
            return await self.draw()
        self._went_on(numbers, now)
        return None

    def _gaps_with(self, numbers: NumbersOut, now: float) -> list[GapOut]:
        """All gaps that are in view, those that are new with them."""
        self._gaps |= {gap.since: gap for gap in numbers.gaps}
        return gaps_between(list(self._gaps.values()), now - self._span.seconds, now)

    def _went_on(self, numbers: NumbersOut, now: float) -> None:
        self._last = last_moment(numbers) or self._last
        self._due = asyncio.get_running_loop().time() + min(self._span.step, LONGEST_PAUSE)
        self._missing.set_content(gap_lines(self._gaps_with(numbers, now)))

    async def _told(self, span: Span, since: float | None) -> NumbersOut:
        query = query_of(self._node, span, since)
        return await self._site.once(
            ("history", self._node, span, since), lambda: self._ask.numbers("node", **query)
        )

    async def _another_span(self, span: Span) -> None:
        self._span = span
        await self.draw()


def _made(chart: Chart) -> GrowingChart:
    with card(chart.title):
        return GrowingChart(f"{chart.title} in {chart.unit}")


def _now(numbers: NumbersOut) -> float:
    return datetime.fromisoformat(numbers.until).timestamp()
