"""The timeline as a chart and as rows of a table. Pure: what the API tells in, options out.

What browsers draw of a stretch is in `assets/timeline.js`; here is where each one lies.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import pairwise
from typing import Any

from tenuto.dashboard.charts import BAD, GOOD, GREY, LINE, WARN, colour_of, in_milliseconds
from tenuto.dashboard.over_time import broken_at_gaps
from tenuto.dashboard.wording import job_path
from tenuto.wire.questions import StretchOut
from tenuto.wire.timeline import TimelineJob, TimelineOut, UsedOut

PAST, FORESEEN, RESERVED = 0, 1, 2
DEADLINE, PROMISED = 0, 1
AT_ONCE = 24
"""Rows that are shown at first; the others are reached by the slider beside them."""
ROW = 25
"""Pixels."""
TOP, BOTTOM = 122, 64
"""Pixels above the first row and below the last one."""
LEFT = 126
LEAST = 0.06
"""The part of a window that is shown at least on either side of now."""
_STANDING = {"holds": GOOD, "kept": GOOD, "at_risk": WARN, "broken": BAD}
_TONES = {"holds": "good", "kept": "good", "at_risk": "warn", "broken": "bad"}


@dataclass(frozen=True, slots=True)
class Range:
    """A time around now."""

    label: str
    seconds: int


RANGES = (
    Range("30 min", 1800),
    Range("2 h", 7200),
    Range("12 h", 43_200),
    Range("2 days", 172_800),
    Range("2 weeks", 1_209_600),
)
"""Half of each lies behind, and as much ahead as something is foreseen in."""
USUAL = RANGES[1]


def range_in(label: str) -> Range:
    """The one that an address names, else the usual one."""
    return next((one for one in RANGES if one.label == label), USUAL)


def asked_for(span: Range) -> dict[str, str]:
    """What is asked of the API."""
    return {"since": f"{span.seconds // 2}s", "until": f"+{span.seconds // 2}s"}


def seconds(moment: str) -> float:
    """A moment of the API in Unix seconds."""
    return datetime.fromisoformat(moment).timestamp()


def shown(told: TimelineOut) -> tuple[float, float]:
    """Both ends of the axis: a little beyond all that is to be seen, and never beyond the window."""
    since, now, until = seconds(told.since), seconds(told.now), seconds(told.until)
    behind = [seconds(one.begin) for job in told.jobs for one in job.past]
    ahead = [seconds(at) for job in told.jobs for at in _moments_ahead(job)]
    first, last = min(behind, default=now), max(ahead, default=now)
    least = LEAST * (until - since)
    return max(since, now - max(1.06 * (now - first), least)), min(
        until, now + max(1.06 * (last - now), least)
    )


def _moments_ahead(job: TimelineJob) -> Iterable[str]:
    yield from (at for at in (job.deadline, job.promised, job.finish) if at is not None)
    for one in (*job.foreseen, *job.reserved):
        yield one.begin if one.end is None else one.end


def bars(told: TimelineOut) -> list[list[float]]:
    """Every stretch: begin and end in milliseconds, row, slots, kind; what is reserved lies below the others."""
    found = []
    for row, job in enumerate(told.jobs):
        for kind, stretches in ((RESERVED, job.reserved), (PAST, job.past), (FORESEEN, job.foreseen)):
            found += [_bar(one, row, kind, job, told) for one in stretches]
    return found


def _bar(one: StretchOut, row: int, kind: int, job: TimelineJob, told: TimelineOut) -> list[float]:
    # A stretch without an end is drawn up to the job's expected one, or out of the window.
    end = seconds(one.end or job.finish or told.until)
    return [_milliseconds(seconds(one.begin)), _milliseconds(end), row, one.slots, kind]


def marks(told: TimelineOut) -> list[dict[str, Any]]:
    """Deadlines and promised finishes, coloured by what has become of the promise."""
    found = []
    for row, job in enumerate(told.jobs):
        colour = _STANDING.get(job.promise, GREY)
        if job.deadline is not None:
            found.append(_mark(job.deadline, row, DEADLINE, colour))
        if job.promised is not None and job.promise != "none":
            found.append(_mark(job.promised, row, PROMISED, colour))
    return found


def _mark(at: str, row: int, kind: int, colour: str) -> dict[str, Any]:
    shape = (
        {"symbol": "rect", "symbolSize": [2, 20]}
        if kind == DEADLINE
        else {"symbol": "circle", "symbolSize": 9}
    )
    return {"value": [_milliseconds(seconds(at)), row, kind], "itemStyle": {"color": colour}, **shape}


def height(jobs: int) -> int:
    """Pixels of the whole chart."""
    return TOP + BOTTOM + ROW * max(min(jobs, AT_ONCE), 3)


def options(told: TimelineOut, *, first: bool) -> dict[str, Any]:
    """The whole chart. What somebody has zoomed to is left alone, unless it is the `first` one or another range."""
    names = [[job.name, job.state, job.promise.replace("_", " "), colour_of(job.id)] for job in told.jobs]
    rows = json.dumps(names)
    since, until = map(_milliseconds, shown(told))
    most = max((stretch.slots for job in told.jobs for stretch in (*job.past, *job.foreseen)), default=1)
    slots = max(told.slots, 1)
    axis = {"type": "time", "min": since, "max": until, "axisLine": {"lineStyle": {"color": LINE}}}
    return {
        "animation": False,
        "grid": [
            {"left": LEFT, "right": 40, "top": 26, "height": 64},
            {"left": LEFT, "right": 40, "top": TOP, "bottom": BOTTOM},
        ],
        "tooltip": {"confine": True, "renderMode": "html", ":formatter": f"tenutoTimeline.tip({rows})"},
        "xAxis": [
            {**axis, "gridIndex": 0, "axisLabel": {"show": False}, "axisTick": {"show": False},
             "splitLine": {"show": False}},
            {**axis, "gridIndex": 1, "axisLabel": {"color": GREY, "hideOverlap": True},
             "splitLine": {"show": True, "lineStyle": {"color": LINE}}},
        ],
        "yAxis": [
            {"type": "value", "gridIndex": 0, "min": 0, "max": slots, "interval": slots, "name": "slots in use",
             "nameTextStyle": {"color": GREY, "align": "right"}, "axisLabel": {"color": GREY},
             "splitLine": {"lineStyle": {"color": LINE}}},
            {"type": "category", "gridIndex": 1, "inverse": True, "data": [job.id for job in told.jobs],
             "triggerEvent": True, "axisTick": {"show": False}, "axisLine": {"show": False},
             "axisLabel": {"color": GREY, "width": LEFT - 16, "overflow": "truncate", "interval": 0,
                           ":formatter": f"tenutoTimeline.named({json.dumps([name[0] for name in names])})"},
             "splitLine": {"show": True, "lineStyle": {"color": "#8b98a522"}}},
        ],
        "dataZoom": _zooms(len(told.jobs), first=first),
        "series": [*_use(told), _stretches(told, rows, most), _marked(told)],
    }  # fmt: skip


def _zooms(jobs: int, *, first: bool) -> list[dict[str, Any]]:
    whole: dict[str, Any] = {"start": 0, "end": 100} if first else {}
    rows: dict[str, Any] = {"startValue": 0, "endValue": min(jobs, AT_ONCE) - 1} if first and jobs else {}
    look = {
        "borderColor": LINE,
        "textStyle": {"color": GREY},
        "showDetail": False,
        "brushSelect": False,
        "showDataShadow": False,
    }
    return [
        # A wheel alone scrolls the page.
        {"type": "inside", "id": "drag", "xAxisIndex": [0, 1], "filterMode": "none", "zoomOnMouseWheel": "ctrl",
         **whole},
        {"type": "slider", "id": "time", "xAxisIndex": [0, 1], "filterMode": "none", "bottom": 12, "height": 18,
         **look, **whole},
        {"type": "slider", "id": "rows", "yAxisIndex": [1], "filterMode": "none", "right": 8, "width": 14,
         "show": jobs > AT_ONCE, "zoomLock": True, **look, **rows},
    ]  # fmt: skip


def _use(told: TimelineOut) -> list[dict[str, Any]]:
    """Slots in use: what was, and what is foreseen."""
    common = {
        "type": "line",
        "xAxisIndex": 0,
        "yAxisIndex": 0,
        "showSymbol": False,
        "step": "end",
        "silent": True,
    }
    past = in_milliseconds(_counted(told.past))
    ahead = in_milliseconds(list(zip(told.foreseen.at, told.foreseen.slots, strict=True)))
    return [
        {**common, "id": "used", "data": past, "lineStyle": {"width": 1.4, "color": GOOD},
         "areaStyle": {"color": GOOD, "opacity": 0.25}, "markLine": _now(told, "now")},
        {**common, "id": "will be used", "data": ahead, "lineStyle": {"width": 1.2, "color": GOOD, "type": "dashed"},
         "areaStyle": {"color": GOOD, "opacity": 0.1}},
    ]  # fmt: skip


def _counted(used: UsedOut) -> list[tuple[float, float | None]]:
    """What was counted, with nothing where nobody counted."""
    step = min((later - earlier for earlier, later in pairwise(used.at)), default=0.0)
    return broken_at_gaps(used.at, used.slots, step)


def _stretches(told: TimelineOut, rows: str, most: int) -> dict[str, Any]:
    return {
        "type": "custom", "id": "stretches", "xAxisIndex": 1, "yAxisIndex": 1, "clip": True,
        ":renderItem": f"tenutoTimeline.bar({rows}, {most})",
        "encode": {"x": [0, 1], "y": 2}, "data": bars(told),
    }  # fmt: skip


def _marked(told: TimelineOut) -> dict[str, Any]:
    return {
        "type": "scatter", "id": "marks", "xAxisIndex": 1, "yAxisIndex": 1, "clip": True, "z": 5,
        "encode": {"x": 0, "y": 1}, "data": marks(told), "markLine": _now(told, ""),
    }  # fmt: skip


def _now(told: TimelineOut, label: str) -> dict[str, Any]:
    return {
        "symbol": "none", "silent": True, "animation": False,
        "lineStyle": {"color": WARN, "type": "solid", "width": 1.2},
        "label": {"show": bool(label), "formatter": label, "color": WARN, "distance": 3},
        "data": [{"xAxis": _milliseconds(seconds(told.now))}],
    }  # fmt: skip


def _milliseconds(moment: float) -> int:
    return round(moment * 1000)


# the same as a table


def lines(told: TimelineOut) -> list[dict[str, Any]]:
    """A row for each job: its slots now, the next change, when it ends, and its promise."""
    return [
        {
            "id": job.id,
            "href": job_path(job.id),
            "name": job.name,
            "state": job.state,
            "slots": job.past[-1].slots
            if job.ended_at is None and job.past and job.past[-1].end == told.now
            else 0,
            "next": _next_change(job.foreseen),
            "end": job.ended_at,
            "finish": job.finish,
            "promised": job.promised if job.promise != "none" else None,
            "promise": "" if job.promise == "none" else job.promise.replace("_", " "),
            "tone": _TONES.get(job.promise, "muted"),
        }
        for job in told.jobs
    ]


def _next_change(ahead: Sequence[StretchOut]) -> dict[str, Any] | None:
    """When it is foreseen to have another size."""
    if len(ahead) < 2:
        return None
    return {"at": ahead[1].begin, "slots": ahead[1].slots}
