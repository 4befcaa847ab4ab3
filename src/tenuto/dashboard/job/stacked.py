"""Charts one above the other on one time axis, with events across all of them. Pure: options of ECharts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tenuto.dashboard.charts import GREY, LINE, PALETTE, Points, in_milliseconds
from tenuto.dashboard.job.course import Window
from tenuto.dashboard.job.happenings import Mark

LEFT, RIGHT, TOP = 56, 18, 8
EVENTS, HEIGHT, SPACE, FOOT = 22, 104, 34, 66
"""Pixels: the line of events, a chart, the room above it for its title, and what is below all."""


@dataclass(frozen=True, slots=True)
class Row:
    """One of the charts."""

    title: str
    lines: Mapping[str, Points]
    most: float | None = None
    """The end of its axis, if that is known."""
    steps: bool = False
    """Values that stay until they change."""


def height(rows: Sequence[Row]) -> int:
    """Pixels that all of them need."""
    return TOP + EVENTS + len(rows) * (HEIGHT + SPACE) + FOOT


def stacked(rows: Sequence[Row], marks: Sequence[Mark], seen: Window) -> dict[str, Any]:
    """Every chart with its own scale, all of them with the same time, pointer and zoom."""
    below = range(1, len(rows) + 1)
    every = [0, *below]
    return {
        "animation": False,
        "color": list(PALETTE),
        "title": [
            _title("events", 4, TOP + 4),
            *(_title(row.title, LEFT - 5, _top(at) - 20) for at, row in enumerate(rows)),
        ],
        "legend": [_legend(row, _top(at) - 22) for at, row in enumerate(rows) if len(row.lines) > 1],
        "grid": [
            {"left": LEFT, "right": RIGHT, "top": TOP, "height": EVENTS},
            *({"left": LEFT, "right": RIGHT, "top": _top(at), "height": HEIGHT} for at in range(len(rows))),
        ],
        "axisPointer": {"link": [{"xAxisIndex": "all"}]},
        "tooltip": {"trigger": "axis", "confine": True, "axisPointer": {"type": "line"}},
        "xAxis": [_time(at, seen, shown=at == len(rows)) for at in every],
        "yAxis": [{"gridIndex": 0, "type": "value", "show": False, "min": 0, "max": 1}, *map(_scale, below, rows)],
        "dataZoom": [
            {"type": "inside", "xAxisIndex": every, "zoomOnMouseWheel": "shift", "moveOnMouseMove": "shift"},
            {"type": "slider", "xAxisIndex": every, "height": 18, "bottom": 8, "textStyle": {"color": GREY}},
        ],
        "series": [
            _events(marks),
            *(line for at, row in enumerate(rows, 1) for line in _lines(at, row, marks)),
        ],
    }  # fmt: skip


def _top(row: int) -> int:
    return TOP + EVENTS + row * (HEIGHT + SPACE) + SPACE


def _title(text: str, left: int, top: int) -> dict[str, Any]:
    return {
        "text": text,
        "left": left,
        "top": top,
        "textStyle": {"color": GREY, "fontSize": 12, "fontWeight": "normal"},
    }


def _legend(row: Row, top: int) -> dict[str, Any]:
    return {
        "type": "scroll", "data": [_called(row, name) for name in row.lines],
        "top": top, "left": LEFT + 110, "right": RIGHT,
        "itemHeight": 8, "itemWidth": 14, "icon": "roundRect", "textStyle": {"color": GREY, "fontSize": 11},
        ":formatter": f"name => name.slice(0, -{len(row.title) + 1})",  # its title stands beside it already
    }  # fmt: skip


def _time(grid: int, seen: Window, *, shown: bool) -> dict[str, Any]:
    return {
        "gridIndex": grid, "type": "time", "min": round(seen.since * 1000), "max": round(seen.until * 1000),
        "axisLabel": {"show": shown, "color": GREY, "hideOverlap": True}, "axisTick": {"show": shown},
        "axisLine": {"lineStyle": {"color": LINE}}, "splitLine": {"show": False},
        "axisPointer": {"label": {"show": shown}},
    }  # fmt: skip


def _scale(grid: int, row: Row) -> dict[str, Any]:
    known = [value for line in row.lines.values() for _, value in line if value is not None]
    from_zero = row.most is not None or row.steps or min(known, default=0) >= 0
    return {
        "gridIndex": grid, "type": "value", "min": 0 if from_zero else None, "max": row.most, "splitNumber": 3,
        "minInterval": 1 if row.steps else 0, "axisLabel": {"color": GREY, "fontSize": 11},
        "splitLine": {"lineStyle": {"color": LINE}},
    }  # fmt: skip


def _lines(grid: int, row: Row, marks: Sequence[Mark]) -> list[dict[str, Any]]:
    across = {
        "silent": True, "symbol": "none", "animation": False, "label": {"show": False},
        "data": [
            {"xAxis": round(mark.at * 1000), "lineStyle": {"color": mark.colour, "opacity": 0.5, "width": 1}}
            for mark in marks
        ],
    }  # fmt: skip
    return [
        {
            "type": "line", "name": _called(row, name), "xAxisIndex": grid, "yAxisIndex": grid,
            "data": in_milliseconds(points), "showSymbol": len(points) < 3, "symbolSize": 5, "connectNulls": False,
            "step": "end" if row.steps else False, "lineStyle": {"width": 1.6},
            "areaStyle": {"opacity": 0.12} if row.steps else None,
            "markLine": across if first else None,
        }
        for first, (name, points) in zip([True] + [False] * len(row.lines), row.lines.items(), strict=False)
    ]  # fmt: skip


def _called(row: Row, name: str) -> str:
    """A name that is found once only: lines of the same name would be shown and hidden together."""
    return row.title if len(row.lines) == 1 else f"{name} {row.title}"


def _events(marks: Sequence[Mark]) -> dict[str, Any]:
    return {
        "type": "scatter", "name": "events", "xAxisIndex": 0, "yAxisIndex": 0, "symbolSize": 9,
        "data": [
            {"value": [round(mark.at * 1000), 0.5], "name": mark.text, "itemStyle": {"color": mark.colour}}
            for mark in marks
        ],
        "tooltip": {"trigger": "item", "formatter": "{b}"},
    }  # fmt: skip
