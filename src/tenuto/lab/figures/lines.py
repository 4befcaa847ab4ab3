"""Lines over the share of jobs without a deadline: one panel beside the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from tenuto.lab.figures.looks import look_of
from tenuto.lab.figures.marks import DARK, plain, say_not_there, svg_id
from tenuto.lab.figures.numbers import Panel, Series

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas


PUBLISHED: Mapping[str, Any] = MappingProxyType(
    {"linewidth": 4, "alpha": 0.28, "linestyle": "-", "solid_capstyle": "round"}
)
"""How a line looks that was published."""


def draw_shares(canvas: Canvas, panels: Sequence[Panel], published: bool) -> None:
    """A line with marks for each policy; what was published as faint lines without."""
    every = canvas.subplots(1, len(panels), squeeze=False)[0]
    for axes, panel in zip(every, panels, strict=True):
        for one in panel.series:
            _line(axes, one, panel.name, published=published)
        axes.set_xticks([float(place) for place in panel.places])
        axes.xaxis.set_major_formatter(lambda share, _: f"{100 * share:.0f} %")
        axes.set_ylim(bottom=0)
        plain(axes, panel)
        if panel.missing:
            say_not_there(axes, panel.missing)
    handles, _ = every[0].get_legend_handles_labels()
    if published:
        handles.append(_published_key())
    canvas.legend(handles=handles, loc="outside right center", frameon=False, handlelength=3, fontsize=9)


def _line(axes: Axes, one: Series, panel: str, *, published: bool) -> None:
    look = look_of(one.name)
    (line,) = axes.plot(
        *one.known(),
        color=look.colour,
        marker=look.marker,
        markersize=6,
        markeredgecolor="white",
        markeredgewidth=0.5,
        linestyle=look.dash,
        linewidth=1.6,
        label=look.label,
    )
    line.set_gid(svg_id("line", panel, one.name))
    if published:
        axes.plot(*one.published(), color=look.colour, zorder=1, **PUBLISHED)


def _published_key() -> Any:
    from matplotlib.lines import Line2D

    return Line2D([], [], color=DARK, label="published (same colour)", **PUBLISHED)
