"""Bars: how many deadlines each policy meets, in one group or several."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tenuto.lab.figures.looks import look_of
from tenuto.lab.figures.marks import DARK, FAINT, legend_above, plain, say_not_there, svg_id
from tenuto.lab.figures.numbers import Panel, Point, Series

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

WIDE = 0.72
"""The width of a bar that stands alone."""
GROUP = 0.88
"""Of the room between two groups, what the bars of one take."""
CROWDED = 24
"""Of more bars than these the values are written upwards."""
PUBLISHED_WIDTH = 1.4


@dataclass(frozen=True, slots=True)
class Stand:
    """Where the bars of one series stand."""

    middles: tuple[float, ...]
    width: float
    upwards: bool = False
    """Whether there is room for the values only upwards."""


def draw_one_each(canvas: Canvas, panels: Sequence[Panel], published: bool) -> None:
    """One bar per policy, named below it."""
    axes = canvas.subplots()
    (panel,) = panels
    for position, one in enumerate(panel.series):
        _bars(axes, one, Stand((float(position),), WIDE), published=published)
    axes.set_xticks(range(len(panel.series)), [look_of(one.name).label for one in panel.series])
    axes.set(ylim=(0, 1.05), xlim=(-0.6, len(panel.series) - 0.4))
    plain(axes, panel)
    if panel.missing:
        say_not_there(axes, panel.missing)
    if published:
        axes.legend(handles=[_published_key()], loc="upper left", frameon=False)


def draw_groups(canvas: Canvas, panels: Sequence[Panel], published: bool) -> None:
    """A group of bars for each place."""
    axes = canvas.subplots()
    (panel,) = panels
    places = panel.places
    width = GROUP / len(panel.series)
    upwards = len(panel.series) * len(places) > CROWDED
    for index, one in enumerate(panel.series):
        offset = (index + 0.5) * width - GROUP / 2
        middles = tuple(place + offset for place in range(len(places)))
        _bars(axes, one, Stand(middles, width, upwards), published=published)
    for place in range(len(places)):
        axes.axvline(place - 0.5, color=FAINT, linewidth=0.6)
        if all(one.points[place].value is None for one in panel.series):
            axes.text(place, 0.03, "trace not there", rotation=90, ha="center", va="bottom", color=DARK)
    axes.set_xticks(range(len(places)), [str(place) for place in places])
    axes.tick_params(axis="x", length=0)
    axes.set(ylim=(0, 1.12 if upwards else 1.05), xlim=(-0.5, len(places) - 0.5))
    plain(axes, panel)
    legend_above(axes, columns=7, extra=[_published_key()] if published else [])


def _bars(axes: Axes, one: Series, stand: Stand, *, published: bool) -> None:
    look = look_of(one.name)
    every = list(zip(stand.middles, one.points, strict=True))
    there = [(at, point, point.value) for at, point in every if point.value is not None]
    bars = axes.bar(
        [at for at, _, _ in there],
        [value for _, _, value in there],
        stand.width,
        label=look.label,
        color=look.colour,
        edgecolor="white",
        linewidth=0.4,
        hatch=look.hatch,
    )
    for (at, point, _), bar in zip(there, bars, strict=True):
        bar.set_gid(svg_id("bar", one.name, point.x))
        _write_value(axes, at, point, stand, published=published)
    if published:
        for at, point in every:
            _mark_published(axes, at, point, stand.width)


def _write_value(axes: Axes, at: float, point: Point, stand: Stand, *, published: bool) -> None:
    assert point.value is not None
    height, theirs = point.value, point.published
    # Above the published mark where that would cross the figures.
    room = 0.075 if stand.upwards else 0.05
    if published and theirs is not None and height < theirs < height + room:
        height = theirs
    axes.annotate(
        f"{point.value:.2f}" if stand.upwards else f"{point.value:.3f}",
        (at, height),
        xytext=(0, 3),
        textcoords="offset points",
        ha="center",
        va="bottom",
        fontsize=7 if stand.upwards else 9,
        rotation=90 if stand.upwards else 0,
    )


def _mark_published(axes: Axes, at: float, point: Point, width: float) -> None:
    if point.published is None:
        return
    # White below black, so that the mark is seen on dark bars too.
    for colour, thickness in (("white", 3.2), ("black", PUBLISHED_WIDTH)):
        ends = at - width * 0.48, at + width * 0.48
        axes.hlines(point.published, *ends, color=colour, linewidth=thickness)


def _published_key() -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], color="black", linewidth=PUBLISHED_WIDTH, label="published")
