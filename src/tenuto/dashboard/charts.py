"""Options of charts: the same axes, colours and manners everywhere. Pure: values in, options out.

Colours of text and lines are readable on light and on dark.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from colorsys import hls_to_rgb
from typing import Any

PALETTE = (
    "#0f9d8f", "#e4762e", "#5b7fd8", "#c94f7c", "#8a9a2b", "#9467bd", "#d2a92c", "#4aa3c7",
    "#b5523b", "#5f9e57", "#7a6fd0", "#a8737b",
)  # fmt: skip
_SHADES = ((0.58, 0.42), (0.46, 0.62))
"""Saturation and lightness of the colours of jobs: strong and pale."""
_HUES = 20
GREY = "#8b98a5"
LINE = "#8b98a544"
GOOD, WARN, BAD = "#0f9d8f", "#d97706", "#d64545"

Points = Sequence[tuple[float, float | None]]
"""Moments in Unix seconds, and values; None where nothing was measured, which is a gap in the line."""


def colour_of(name: str) -> str:
    """The same colour for the same job or node, wherever it is shown."""
    number = 0
    for character in name:
        number = (number * 31 + ord(character)) & 0xFFFFFFFF
    saturation, lightness = _SHADES[number // _HUES % len(_SHADES)]
    parts = hls_to_rgb(number % _HUES / _HUES, lightness, saturation)
    return "#" + "".join(f"{round(255 * part):02x}" for part in parts)


def time_chart(
    lines: Mapping[str, Points],
    *,
    unit: str = "",
    most: float | None = None,
    since: float | None = None,
    until: float | None = None,
    area: bool = False,
    step: bool = False,
) -> dict[str, Any]:
    """Lines over time, one for each name; moments are shown in the viewer's zone."""
    return {
        "animation": False,
        "color": list(PALETTE),
        "grid": {"left": 54, "right": 16, "top": 30 if len(lines) > 1 else 14, "bottom": 26},
        "legend": {
            "show": len(lines) > 1, "type": "scroll", "top": 0, "left": 64, "right": 8,
            "itemWidth": 14, "itemHeight": 9, "textStyle": {"color": GREY}, "icon": "roundRect",
        },
        "tooltip": {"trigger": "axis", "confine": True},
        "xAxis": {
            "type": "time", "axisLabel": {"color": GREY, "hideOverlap": True}, "splitLine": {"show": False},
            "min": None if since is None else since * 1000, "max": None if until is None else until * 1000,
        },
        "yAxis": {
            "type": "value", "name": unit, "min": 0 if most is not None else None, "max": most, "scale": most is None,
            "nameTextStyle": {"color": GREY, "align": "right"}, "axisLabel": {"color": GREY},
            "splitLine": {"lineStyle": {"color": LINE}},
        },
        "series": [
            {
                "type": "line", "name": name, "data": in_milliseconds(points), "showSymbol": len(points) < 3,
                "lineStyle": {"width": 1.6}, "step": "end" if step else False, "connectNulls": False,
                **({"areaStyle": {"opacity": 0.18}} if area else {}),
            }
            for name, points in lines.items()
        ],
    }  # fmt: skip


def in_milliseconds(points: Points) -> list[list[float | None]]:
    """As the browser wants moments; values are cut to what can be seen, which keeps messages small."""
    return [[round(at * 1000), None if value is None else float(f"{value:.5g}")] for at, value in points]
