"""A picture of a trace: when jobs come, how large and how urgent they are, and what they ask of a cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tenuto.sim.describe import DAY_S, HOUR_S, arrivals_per_hour, load_of, tightness_of
from tenuto.sim.picture import BLUE, GREEN, GREY, ORANGE, blank_figure, save

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes

    from tenuto.model.cluster import Cluster
    from tenuto.sim.trace import Trace


def draw_trace(trace: Trace, path: Path, cluster: Cluster | None = None) -> None:
    """Draw a trace into a PNG or SVG file."""
    figure = blank_figure(path, size=(11, 7))
    arrivals, sizes, tightness, load = figure.subplots(2, 2).flat
    _draw_arrivals(arrivals, trace)
    _draw_sizes(sizes, trace)
    _draw_tightness(tightness, trace)
    _draw_load(load, trace, cluster)
    figure.suptitle(f"{trace.name}: {len(trace):,} jobs")
    save(figure, path)


def _draw_arrivals(axes: Axes, trace: Trace) -> None:
    counts = arrivals_per_hour(trace)
    axes.stairs(counts, np.arange(len(counts) + 1) / 24, fill=True, color=BLUE)
    axes.set(title="Submissions", xlabel="days since the first submission", ylabel="jobs per hour")


def _draw_sizes(axes: Axes, trace: Trace) -> None:
    sizes, counts = np.unique(trace.requested, return_counts=True)
    bars = axes.bar([str(size) for size in sizes.tolist()], counts, color=BLUE)
    axes.bar_label(bars, fmt="{:,.0f}", color=GREY)
    axes.margins(y=0.12)
    axes.set(title="Sizes", xlabel="slots requested", ylabel="jobs")


def _draw_tightness(axes: Axes, trace: Trace) -> None:
    tightness = tightness_of(trace)
    if len(tightness):
        axes.hist(tightness, bins=30, color=GREEN)
        axes.margins(y=0.15)
        axes.axvline(1.0, color=ORANGE, linestyle="--")
        axes.annotate(
            "below 1: too late on the requested slots",
            (1.0, 1.0),
            xycoords=("data", "axes fraction"),
            xytext=(-4, -4),
            textcoords="offset points",
            ha="right",
            va="top",
            color=ORANGE,
            fontsize="small",
        )
    else:
        axes.text(0.5, 0.5, "no job has a deadline", ha="center", transform=axes.transAxes, color=GREY)
    axes.set(title="Urgency", xlabel="time until the deadline / duration", ylabel="jobs")


def _draw_load(axes: Axes, trace: Trace, cluster: Cluster | None) -> None:
    load = load_of(trace)
    axes.stairs(load.slots[:-1], (load.begins - load.begins[0]) / DAY_S, color=BLUE, fill=True, alpha=0.8)
    if cluster is not None:
        axes.axhline(
            cluster.total, color=ORANGE, linestyle="--", label=f"{cluster.name}: {cluster.total} slots"
        )
        axes.legend(loc="upper right")
    hours = load.mean * (load.begins[-1] - load.begins[0]) / HOUR_S
    axes.set(
        title=f"Demand: {hours:,.0f} slot hours",
        xlabel="days since the first submission",
        ylabel="slots asked for",
    )
