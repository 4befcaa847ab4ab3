"""A node over time: what is asked for, the charts that are drawn of it, and what is added to them later. Pure.

A chart is drawn whole once; afterwards only points that are new, or not final yet, travel to the browser.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tenuto.dashboard.charts import GREY, Points, in_milliseconds, time_chart
from tenuto.dashboard.over_time import Span, beginning, broken_at_gaps
from tenuto.wire.series import ColumnsOut, GapOut, NumbersOut

PARTS = ("", "gpu:", "net:", "disk:")
"""The parts of a node that charts are about."""
_GPU, _NET, _DISK = PARTS[1:]
BYTES, FLOW = "bytes", "bytes/s"
MOST_GAPS = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """One of the charts of a node."""

    key: str
    title: str
    unit: str
    most: float | None = None
    lines: Callable[[NumbersOut], Mapping[str, Points]] = field(repr=False)


def _value(columns: ColumnsOut, name: str) -> Points:
    return list(zip(columns.at, columns.values.get(name) or [None] * len(columns.at), strict=True))


def _of_gpus(name: str) -> Callable[[NumbersOut], Mapping[str, Points]]:
    """A line for each GPU, by its number."""

    def lines(numbers: NumbersOut) -> Mapping[str, Points]:
        gpus = sorted(_parts(numbers, _GPU), key=lambda columns: _number(columns.part))
        return {f"GPU {columns.part.removeprefix(_GPU)}": _value(columns, name) for columns in gpus}

    return lines


def _of_node(**names: str) -> Callable[[NumbersOut], Mapping[str, Points]]:
    """Lines of the node as a whole."""

    def lines(numbers: NumbersOut) -> Mapping[str, Points]:
        whole = _parts(numbers, "", exactly=True)
        return {label: _value(whole[0], name) if whole else () for label, name in names.items()}

    return lines


def _summed(part: str, **names: str) -> Callable[[NumbersOut], Mapping[str, Points]]:
    """Flows of all interfaces or disks together."""

    def lines(numbers: NumbersOut) -> Mapping[str, Points]:
        found = _parts(numbers, part)
        return {label: _sum(_value(one, name) for one in found) for label, name in names.items()}

    return lines


GPU_CHARTS = (
    Chart(key="use", title="GPU utilisation", unit="%", most=100.0, lines=_of_gpus("utilisation")),
    Chart(key="power", title="GPU power", unit="W", lines=_of_gpus("power")),
    Chart(key="memory", title="GPU memory used", unit=BYTES, lines=_of_gpus("memory_used")),
)
NODE_CHARTS = (
    Chart(key="cpu", title="CPU", unit="%", most=100.0, lines=_of_node(CPU="cpu")),
    Chart(key="ram", title="RAM", unit=BYTES, lines=_of_node(used="ram_used", total="ram_total")),
    Chart(key="net", title="Network", unit=FLOW, lines=_summed(_NET, received="received", sent="sent")),
    Chart(key="disk", title="Disks", unit=FLOW, lines=_summed(_DISK, read="read", written="written")),
)


def query_of(node: str, span: Span, since: float | None = None) -> dict[str, Any]:
    """What the server is asked for: the whole span, or what is new since a moment."""
    return {
        "name": node,
        "part": list(PARTS),
        "since": f"{span.seconds:.0f}s" if since is None else f"{since:.3f}",
        "step": f"{span.step:g}",
        "points": 1000,
        "limit": 200,
    }


def options(chart: Chart, numbers: NumbersOut, span: Span, now: float) -> dict[str, Any]:
    """A chart of everything that was told."""
    lines = {name: _broken(points, span) for name, points in chart.lines(numbers).items()}
    firsts = [item.at[0] for item in numbers.items if item.at] + [gap.since for gap in numbers.gaps]
    made = time_chart(lines, most=chart.most, since=beginning(firsts, now - span.seconds, now), until=now)
    made["yAxis"] |= {"min": 0, "scale": False}
    made["legend"] |= {"itemWidth": 10, "itemHeight": 10}
    _write_values(made, chart.unit)
    if made["series"]:
        made["series"][0]["markArea"] = _marked(numbers.gaps)
    return made


def _write_values(made: dict[str, Any], unit: str) -> None:
    """How values are written on the axis and beside the pointer; the browser does it (`assets/page.js`)."""
    if unit in (BYTES, FLOW):
        written = "value => window.tenutoBytes(value)" + ("" if unit == BYTES else " + '/s'")
    else:
        written = f"value => (value ?? '\N{EN DASH}') + ' {unit}'"
    made["yAxis"]["axisLabel"] |= {":formatter": written}
    made["tooltip"] |= {":valueFormatter": written}
    made["grid"]["left"] = 64


def additions(chart: Chart, numbers: NumbersOut, span: Span) -> dict[str, list[list[float | None]]]:
    """New points of each line; those of the same moments in the chart give way to them."""
    return {name: in_milliseconds(_broken(points, span)) for name, points in chart.lines(numbers).items()}


def _broken(points: Points, span: Span) -> Points:
    return broken_at_gaps([at for at, _ in points], [value for _, value in points], span.step)


def last_moment(numbers: NumbersOut) -> float | None:
    """The newest point, whose mean may not be final."""
    return max((columns.at[-1] for columns in numbers.items if columns.at), default=None)


def gaps_between(gaps: Sequence[GapOut], since: float, until: float) -> list[GapOut]:
    """Those that are in view, the newest first."""
    seen = [gap for gap in gaps if gap.until > since and gap.since < until]
    return sorted(seen, key=lambda gap: -gap.since)[:MOST_GAPS]


def _marked(gaps: Sequence[GapOut]) -> dict[str, Any]:
    """Gaps as grey stretches, with their reasons when hovered."""
    return {
        "itemStyle": {"color": GREY, "opacity": 0.15},
        "label": {"show": False},
        "emphasis": {"label": {"show": True, "color": GREY}},
        "data": stretches(gaps[-MOST_GAPS:]),
    }


def stretches(gaps: Sequence[GapOut]) -> list[list[dict[str, Any]]]:
    """Gaps as charts mark them."""
    return [
        [{"xAxis": round(gap.since * 1000), "name": gap.why}, {"xAxis": round(gap.until * 1000)}]
        for gap in gaps
    ]


def _parts(numbers: NumbersOut, prefix: str, *, exactly: bool = False) -> list[ColumnsOut]:
    return [
        columns
        for columns in numbers.items
        if (columns.part == prefix if exactly else columns.part.startswith(prefix))
    ]


def _number(part: str) -> tuple[int, str]:
    number = part.removeprefix(_GPU)
    return (int(number) if number.isdecimal() else 1 << 30, number)


def _sum(all_points: Iterable[Points]) -> Points:
    """Point by point; parts that are told at the same moments, as those of one node are."""
    by_moment: dict[float, float | None] = {}
    for points in all_points:
        for at, value in points:
            before = by_moment.get(at)
            by_moment[at] = before if value is None else (before or 0.0) + value
    return sorted(by_moment.items())
