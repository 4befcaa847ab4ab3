"""A picture of replays: what became of the deadlines under each policy, and how well the cluster was used."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tenuto.sim.outcome import Outcome
from tenuto.sim.picture import BLUE, GREEN, GREY, ORANGE, PINK, SKY, YELLOW, blank_figure, save
from tenuto.sim.report import Summary

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = (BLUE, ORANGE, GREEN, PINK, YELLOW, SKY, GREY)
STYLES = ("-", "--", "-.", ":")
HOUR = 3600.0


def draw_replays(replays: Sequence[tuple[Summary, Outcome]], path: Path) -> None:
    """Draw replays of one trace into a PNG or SVG file."""
    figure = blank_figure(path, size=(11, 4.6 + 0.35 * len(replays)))
    deadlines, efficiency = figure.subplots(2, 1, height_ratios=(1 + 0.45 * len(replays), 3))
    _draw_deadlines(deadlines, [summary for summary, _ in replays])
    _draw_efficiency(efficiency, replays)
    first = replays[0][0]
    figure.suptitle(f"{first.trace} on {first.cluster}")
    save(figure, path)


def _draw_deadlines(axes: Axes, summaries: Sequence[Summary]) -> None:
    names = [summary.policy for summary in summaries]
    offset = np.zeros(len(summaries))
    for label, colour, counts in (
        ("met", BLUE, [summary.met for summary in summaries]),
        ("missed", ORANGE, [summary.missed for summary in summaries]),
        ("refused at arrival", "#cccccc", [summary.declined for summary in summaries]),
    ):
        bars = axes.barh(names, counts, left=offset, color=colour, label=label)
        texts = [f"{count:,}" if count else "" for count in counts]
        axes.bar_label(bars, texts, label_type="center", color="white" if colour == BLUE else "black")
        offset += counts
    axes.invert_yaxis()
    axes.set(title="Deadlines", xlabel="jobs with a deadline")
    axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.22), ncols=3, frameon=False)


def _draw_efficiency(axes: Axes, replays: Sequence[tuple[Summary, Outcome]]) -> None:
    for k, (summary, outcome) in enumerate(replays):
        hours, values = _hourly(outcome)
        axes.plot(
            hours,
            values,
            color=COLOURS[k % len(COLOURS)],
            linestyle=STYLES[k % len(STYLES)],
            linewidth=1.4,
            label=summary.policy,
        )
    axes.set(
        title="Cluster efficiency, averaged over the hour",
        xlabel="hours since the first submission",
        ylabel="work relative to single slots",
        ylim=(0, None),
    )
    axes.legend(ncols=2, fontsize="small")


def _hourly(outcome: Outcome) -> tuple[list[float], list[float]]:
    """Average the efficiency over each hour."""
    time, value = outcome.events.time, outcome.events.efficiency
    if len(time) < 2:
        return [0.0], [0.0]
    done = np.concatenate([[0.0], np.cumsum(value[:-1] * np.diff(time))])
    edges = np.arange(time[0], time[-1] + HOUR, HOUR)
    means = np.diff(np.interp(edges, time, done)) / HOUR
    return ((edges[:-1] - time[0]) / HOUR).tolist(), means.tolist()
