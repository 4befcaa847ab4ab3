"""Steps over time: what the cluster does, hour by hour."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from typing import TYPE_CHECKING

from tenuto.lab.figures.looks import look_of
from tenuto.lab.figures.marks import legend_above, plain, say_not_there, svg_id
from tenuto.lab.figures.numbers import Panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure as Canvas

TICKS = (6, 12, 24, 48, 96, 168)
"""Hours between two marks of the axis: parts of days, days, weeks."""


def draw_steps(canvas: Canvas, panels: Sequence[Panel], published: bool) -> None:
    """One line of steps for each policy. No numbers were published for these pictures."""
    del published
    axes = canvas.subplots()
    (panel,) = panels
    for index, one in enumerate(panel.series):
        look = look_of(one.name)
        # Those behind are thicker, so that lines which coincide can all be seen.
        front = len(panel.series) - 1 - index
        (line,) = axes.step(
            *one.known(),
            where="post",
            color=look.colour,
            linestyle=look.dash,
            linewidth=1.5 + 0.35 * front,
            label=look.label,
        )
        line.set_gid(svg_id("line", one.name))
    _finish(axes, panel)


def draw_counts(canvas: Canvas, panels: Sequence[Panel], published: bool) -> None:
    """Filled steps, each in front of the one before."""
    from matplotlib.ticker import MaxNLocator

    del published
    axes = canvas.subplots()
    (panel,) = panels
    for one in panel.series:
        look = look_of(one.name)
        begins, counts = one.known()
        edges = [*begins, 2 * begins[-1] - begins[-2]]
        steps = axes.stairs(counts, edges, fill=True, color=look.colour, label=look.label)
        steps.set_gid(svg_id("line", one.name))
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    _finish(axes, panel)


def _finish(axes: Axes, panel: Panel) -> None:
    end = ceil(max((float(one.points[-1].x) for one in panel.series), default=48.0))
    step = next((hours for hours in TICKS if end / hours <= 16), TICKS[-1])
    axes.set_xticks(range(0, end + 1, step))
    axes.set(xlim=(0, 1.01 * end), ylim=(0, None))
    plain(axes, panel)
    if panel.series:
        legend_above(axes, columns=len(panel.series))
    if panel.missing:
        say_not_there(axes, panel.missing)
