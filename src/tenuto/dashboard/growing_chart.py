"""A chart over time that is drawn whole once, and then gets what is new."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from nicegui import ui

from tenuto.dashboard.over_time import MISSING, Span


class GrowingChart:
    """A chart on a page; see `tenutoGrow` in `assets/page.js`."""

    def __init__(self, label: str) -> None:
        self._chart = ui.echart({"series": []}).classes("t-chart").props(f'role=img aria-label="{label}"')
        self._lines: frozenset[str] = frozenset()

    def draw(self, options: Mapping[str, Any]) -> None:
        """Draw it whole."""
        self._lines = frozenset(line["name"] for line in options["series"])
        self._chart.options.clear()
        self._chart.options.update(options)
        self._chart.update()

    def grow(
        self, lines: Mapping[str, list[list[float | None]]], gaps: Sequence[Any], span: Span, until: float
    ) -> bool:
        """Add points; `gaps` are all that are in view. False if it has not all lines, and has to be drawn whole."""
        if not lines.keys() <= self._lines:
            return False
        since = round((until - span.seconds) * 1000)
        arguments = (
            self._chart.id, lines, since, round(until * 1000), MISSING * span.step * 1000, gaps,
        )  # fmt: skip
        told = json.dumps(arguments, separators=(",", ":"))
        ui.run_javascript(f"window.tenutoGrow(...{told})")
        return True
