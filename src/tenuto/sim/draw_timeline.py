"""A picture of who was on which slot when: one panel per replay, one line per slot, one colour per job.

Above the slots stand the deadlines: a filled mark if the job was in time, an empty one if it was late or refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from tenuto.model.columns import Ints
from tenuto.sim.outcome import Outcome
from tenuto.sim.picture import BLUE, GREEN, GREY, ORANGE, PINK, SKY, YELLOW, blank_figure, save
from tenuto.sim.workload import Workload

if TYPE_CHECKING:
    from matplotlib.axes import Axes

COLOURS = (BLUE, YELLOW, GREEN, PINK, SKY, ORANGE, GREY, "#F0E442", "#332288", "#882255")
DARK = {BLUE, GREEN, GREY, "#332288", "#882255"}
"""Colours on which names are written in white."""
HOUR = 3600.0
LABELLED = 0.012
"""Share of the time axis from which on a stretch is wide enough for a job's name."""


@dataclass(frozen=True, slots=True)
class Timeline:
    """One replay, with the layouts of its events."""

    title: str
    workload: Workload
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Stretch:
    """A job on a block of neighbouring slots without a change."""

    job: int
    """Its position in the trace's file."""
    begin: float
    end: float
    slot: int
    slots: int


def draw_timelines(timelines: Sequence[Timeline], path: Path, until: float | None = None) -> None:
    """Draw replays on one time axis, which may be longer than they are, into a PNG or SVG file."""
    height = sum(0.9 + 0.16 * timeline.workload.cluster.total for timeline in timelines)
    figure = blank_figure(path, size=(11, height))
    panels = figure.subplots(len(timelines), 1, sharex=True, squeeze=False)[:, 0]
    begin, end = span(timelines)
    end = end if until is None else until
    for axes, timeline in zip(panels, timelines, strict=True):
        _draw(axes, timeline, begin, end)
    panels[-1].set_xlabel("hours since the first submission")
    save(figure, path)


def stretches(outcome: Outcome) -> Iterator[Stretch]:
    """What the layouts of a replay show, as rectangles."""
    layouts = outcome.events.layouts or ()
    time = outcome.events.time
    open_since: dict[tuple[int, int, int], float] = {}
    for now, layout in zip(time.tolist(), layouts, strict=True):
        blocks = set(_blocks(layout))
        for block in [block for block in open_since if block not in blocks]:
            yield Stretch(block[0], open_since.pop(block), now, block[1], block[2])
        for block in blocks:
            open_since.setdefault(block, now)
    # Who still runs when a replay is ended early.
    for (job, slot, slots), begin in open_since.items():
        yield Stretch(job, begin, float(time[-1]), slot, slots)


def _blocks(layout: Ints) -> Iterator[tuple[int, int, int]]:
    """Neighbouring slots with the same job: the job, the first slot, how many."""
    edges = np.flatnonzero(np.diff(layout)) + 1
    for first, last in zip([0, *edges.tolist()], [*edges.tolist(), len(layout)], strict=True):
        if layout[first] >= 0:
            yield int(layout[first]), first, last - first


def span(timelines: Sequence[Timeline]) -> tuple[float, float]:
    """The first submission, and a little more than the last end or deadline."""
    begin = min(float(timeline.workload.trace.submitted.min()) for timeline in timelines)
    ends = [float(timeline.outcome.events.time[-1]) for timeline in timelines]
    deadlines = timelines[0].workload.trace.deadline
    ends.extend(deadlines[np.isfinite(deadlines)].tolist())
    return begin, max(*ends, begin + 1.0) * 1.01 - begin * 0.01


def _draw(axes: Axes, timeline: Timeline, begin: float, end: float) -> None:
    slots = timeline.workload.cluster.total
    names = dict(zip(timeline.workload.trace.position.tolist(), timeline.workload.trace.ids, strict=True))
    for stretch in sorted(stretches(timeline.outcome), key=lambda each: (each.begin, each.slot)):
        left, width = (stretch.begin - begin) / HOUR, (stretch.end - stretch.begin) / HOUR
        colour = COLOURS[stretch.job % len(COLOURS)]
        axes.broken_barh(
            [(left, width)],
            (stretch.slot, stretch.slots),
            facecolor=colour,
            edgecolor="white",
            linewidth=0.4,
        )
        if stretch.end - stretch.begin >= LABELLED * (end - begin):
            middle = (left + width / 2, stretch.slot + stretch.slots / 2)
            ink = "white" if colour in DARK else "black"
            axes.annotate(
                names[stretch.job], middle, color=ink, ha="center", va="center", fontsize=7, clip_on=True
            )
    _draw_deadlines(axes, timeline, begin, slots)
    met = int(np.count_nonzero(timeline.outcome.met))
    jobs = int(np.count_nonzero(~timeline.workload.trace.best_effort))
    axes.set_title(f"{timeline.title}: {met} of {jobs} deadlines met", loc="left", fontsize=9)
    axes.set(ylim=(0, slots + 1.6), xlim=(0, (end - begin) / HOUR), ylabel="slot", yticks=[0, slots])
    axes.spines[["top", "right"]].set_visible(False)


def _draw_deadlines(axes: Axes, timeline: Timeline, begin: float, slots: int) -> None:
    trace = timeline.workload.trace
    for row in np.flatnonzero(np.isfinite(trace.deadline)).tolist():
        colour = COLOURS[int(trace.position[row]) % len(COLOURS)]
        axes.plot(
            (trace.deadline[row] - begin) / HOUR,
            slots + 0.7,
            marker="v",
            markersize=5,
            markeredgecolor=colour,
            markerfacecolor=colour if timeline.outcome.met[row] else "white",
        )
