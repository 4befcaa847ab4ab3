"""What all pictures share: plain axes, a legend beside the data, and marks for what is missing or published."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tenuto.lab.figures.numbers import Panel

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FAINT, DARK = "#dddddd", "#555555"


def svg_id(*parts: object) -> str:
    """The name by which a bar or line is found in the SVG file."""
    return "-".join(str(part).replace(" ", "-") for part in parts)


def plain(axes: Axes, panel: Panel) -> None:
    """Name the axes; only two of four edges, and faint lines to read values by."""
    axes.set(xlabel=panel.x_label, ylabel=panel.y_label)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color=FAINT, linewidth=0.6)
    axes.set_axisbelow(True)
    if panel.title:
        axes.set_title(panel.title, loc="left", fontsize="medium")


def legend_above(axes: Axes, columns: int, extra: Sequence[Any] = ()) -> None:
    """Put the legend above the data, in one or two lines."""
    handles, _ = axes.get_legend_handles_labels()
    axes.legend(
        handles=[*handles, *extra],
        loc="lower left",
        bbox_to_anchor=(0.0, 1.01),
        borderaxespad=0.0,
        ncols=columns,
        frameon=False,
        columnspacing=1.4,
        handlelength=2.2,
        fontsize=9,
    )


def say_not_there(axes: Axes, missing: Sequence[str]) -> None:
    """Write across empty axes what was not there."""
    axes.text(
        0.5,
        0.85,
        f"the trace {' and '.join(missing)} is not there",
        transform=axes.transAxes,
        ha="center",
        va="center",
        color=DARK,
        bbox={"facecolor": "white", "edgecolor": DARK, "boxstyle": "round,pad=0.5"},
    )
