"""Charts of what came out of a run. Pure: a digest of results in, options of charts out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tenuto.dashboard.charts import GREY, LINE, PALETTE
from tenuto.lab.as_it_was import NAME as REALLY

Telling = Mapping[str, Any]
Options = dict[str, Any]

_UNITS = ((86_400.0, "days"), (3600.0, "hours"), (60.0, "minutes"), (1.0, "seconds"))
_FEW = 3.0
"""A unit is used from so many of it on."""


def colours(tellings: Sequence[Telling]) -> list[str]:
    """One for each policy, the same in all charts of a run; what really was is grey."""
    policies = [telling["name"] for telling in tellings if telling["name"] != REALLY]
    return [
        GREY if telling["name"] == REALLY else PALETTE[policies.index(telling["name"]) % len(PALETTE)]
        for telling in tellings
    ]


def ratio_chart(tellings: Sequence[Telling]) -> Options:
    """Deadlines met, one bar for each policy."""
    data = [
        {
            "value": None if telling["row"]["ratio"] is None else round(100 * telling["row"]["ratio"], 1),
            "itemStyle": {"color": colour},
        }
        for telling, colour in zip(tellings, colours(tellings), strict=True)
    ]
    return {
        "animation": False,
        "grid": {"left": 8, "right": 46, "top": 8, "bottom": 8, "containLabel": True},
        "tooltip": {"trigger": "item", "confine": True},
        "xAxis": {"type": "value", "min": 0, "max": 100, "interval": 25,
                  "axisLabel": {"color": GREY, "formatter": "{value} %", "hideOverlap": True},
                  "splitLine": {"lineStyle": {"color": LINE}}},
        "yAxis": {"type": "category", "inverse": True, "data": [telling["name"] for telling in tellings],
                  "axisLabel": {"color": GREY}, "axisTick": {"show": False}},
        "series": [
            {"type": "bar", "name": "deadlines met", "data": data, "barMaxWidth": 22,
             "label": {"show": True, "position": "right", "color": GREY, "formatter": "{c} %"}}
        ],
    }  # fmt: skip


def allocated_chart(tellings: Sequence[Telling], zero: float | None) -> Options:
    """Slots in use over time; what really was is not known."""
    known = [telling for telling in tellings if telling["allocated"]]
    lines = {telling["name"]: telling["allocated"] for telling in known}
    return _over_time(lines, _colours_by_name(tellings), zero, step=True)


def admitted_chart(tellings: Sequence[Telling], zero: float | None) -> Options:
    """How many jobs had come, and how many had been let in."""
    lines = {telling["name"]: telling["admitted"] for telling in tellings}
    if tellings:
        lines = {"submitted": tellings[-1]["submitted"], **lines}
    chart = _over_time(lines, {"submitted": GREY, **_colours_by_name(tellings)}, zero, step=True)
    chart["yAxis"] |= {"minInterval": 1}
    for series in chart["series"]:
        if series["name"] == "submitted":
            series |= {"areaStyle": {"opacity": 0.14}, "lineStyle": {"width": 1, "type": "dashed"}}
    return chart


def jct_chart(tellings: Sequence[Telling]) -> Options:
    """Which share of all jobs was done within which time."""
    longest = max((line[-1][0] for telling in tellings if (line := telling["jct"])), default=1.0)
    size, unit = unit_for(longest)
    lines = {
        telling["name"]: [[x / size, round(100 * share, 2)] for x, share in telling["jct"] if x > 0]
        for telling in tellings
    }
    chart = _lines(lines, _colours_by_name(tellings), step=True)
    chart["xAxis"] |= {
        "type": "log",
        "name": unit,
        "axisLabel": {"color": GREY, "hideOverlap": True},
        "minorSplitLine": {"show": False},
    }
    chart["yAxis"] |= {"max": 100, "axisLabel": {"color": GREY, "formatter": "{value} %"}}
    return chart


def unit_for(seconds: float) -> tuple[float, str]:
    """In what such a time is best told: its seconds, and its name."""
    for size, name in _UNITS:
        if seconds >= _FEW * size:
            return size, name
    return _UNITS[-1]


def _colours_by_name(tellings: Sequence[Telling]) -> dict[str, str]:
    return dict(zip((telling["name"] for telling in tellings), colours(tellings), strict=True))


def _over_time(
    lines: Mapping[str, Sequence[Sequence[float]]],
    colour: Mapping[str, str],
    zero: float | None,
    *,
    step: bool,
) -> Options:
    """Lines over the time of the trace, or over real time if it is known when the trace began."""
    if zero is not None:
        moments = {name: [[round((zero + x) * 1000), y] for x, y in points] for name, points in lines.items()}
        chart = _lines(moments, colour, step=step)
        chart["xAxis"] |= {"type": "time"}
        return chart
    size, unit = unit_for(max((points[-1][0] for points in lines.values() if points), default=1.0))
    scaled = {name: [[round(x / size, 4), y] for x, y in points] for name, points in lines.items()}
    chart = _lines(scaled, colour, step=step)
    chart["xAxis"] |= {"name": unit}
    return chart


def _lines(
    lines: Mapping[str, Sequence[Sequence[float]]], colour: Mapping[str, str], *, step: bool
) -> Options:
    return {
        "animation": False,
        "grid": {"left": 44, "right": 24, "top": 34, "bottom": 42},
        "legend": {"type": "scroll", "top": 0, "textStyle": {"color": GREY}, "icon": "roundRect"},
        "tooltip": {"trigger": "axis", "confine": True},
        "xAxis": {"type": "value", "nameLocation": "middle", "nameGap": 24, "nameTextStyle": {"color": GREY},
                  "axisLabel": {"color": GREY, "hideOverlap": True}, "splitLine": {"show": False}},
        "yAxis": {"type": "value", "min": 0, "axisLabel": {"color": GREY},
                  "splitLine": {"lineStyle": {"color": LINE}}},
        "series": [
            {"type": "line", "name": name, "data": list(points), "showSymbol": len(points) < 2,
             "step": "end" if step else False, "lineStyle": {"width": 1.6}, "itemStyle": {"color": colour[name]}}
            for name, points in lines.items()
        ],
    }  # fmt: skip
