"""The cluster over time: how much work its slots do, and how many jobs run and wait. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tenuto.dashboard.charts import Points, time_chart
from tenuto.dashboard.over_time import Span, beginning, broken_at_gaps
from tenuto.wire.series import NumbersOut


def efficiency_chart(numbers: NumbersOut, span: Span, now: float) -> dict[str, Any]:
    """Percent of what all slots would do alone, and of the slots that are used."""
    column = _columns(numbers, span)
    used = [
        (at, None if used is None or not slots else 100 * used / slots)
        for (at, used), (_, slots) in zip(column["slots_used"], column["slots"], strict=True)
    ]
    efficiency = [(at, None if value is None else 100 * value) for at, value in column["efficiency"]]
    lines = {"slots used": used, "efficiency": efficiency}
    return time_chart(lines, unit="%", most=100.0, since=_since(numbers, span, now), until=now)


def jobs_chart(numbers: NumbersOut, span: Span, now: float) -> dict[str, Any]:
    """How many run, and how many wait."""
    column = _columns(numbers, span)
    lines = {"running": column["running"], "waiting": column["queue"]}
    options = time_chart(lines, unit="jobs", since=_since(numbers, span, now), until=now)
    options["yAxis"] |= {"min": 0, "minInterval": 1, "scale": False}
    return options


def _since(numbers: NumbersOut, span: Span, now: float) -> float:
    return beginning((item.at[0] for item in numbers.items if item.at), now - span.seconds, now)


def _columns(numbers: NumbersOut, span: Span) -> Mapping[str, Points]:
    names = ("slots", "slots_used", "efficiency", "running", "queue")
    if not numbers.items:
        return dict.fromkeys(names, ())
    told = numbers.items[0]
    least = max(span.step, 10.0)
    return {
        name: broken_at_gaps(told.at, told.values.get(name, [None] * len(told.at)), least) for name in names
    }
