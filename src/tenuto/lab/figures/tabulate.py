"""From runs to the numbers of a picture."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tenuto.lab.figures.figure import GREEDY, Runs
from tenuto.lab.figures.numbers import Panel, Point, Series
from tenuto.lab.figures.published import Published
from tenuto.lab.results import Result
from tenuto.model.columns import Floats

Value = tuple[float | None, str]
"""A number, and what it is made of."""

MINUTE, HOUR = 60.0, 3600.0
WATCHED = 48 * HOUR
"""Figure 7 shows two days."""


@dataclass(frozen=True, slots=True)
class Ratios:
    """The share of deadlines that each policy meets at each place."""

    published: Published
    x_label: str = ""
    name: str = ""
    title: str = ""

    def __call__(self, runs: Runs) -> tuple[Panel, ...]:
        """Tabulate."""
        return (
            Panel(
                name=self.name,
                title=self.title,
                x_label=self.x_label,
                y_label="deadlines met / jobs with a deadline",
                series=_per_policy(runs, self.published, lambda place, policy: _ratio(runs, place, policy)),
                missing=runs.missing,
            ),
        )


@dataclass(frozen=True, slots=True)
class BestEffort:
    """How long jobs without a deadline take, relative to one of the policies."""

    relative_to: str
    published: Published
    x_label: str
    name: str
    title: str

    def __call__(self, runs: Runs) -> tuple[Panel, ...]:
        """Tabulate."""

        def gain(place: str, policy: str) -> Value:
            theirs = _best_effort_jct(runs, place, self.relative_to)
            own = _best_effort_jct(runs, place, policy)
            if theirs is None or own is None:
                return None, ""
            return theirs / own, f"mean {own:.0f} s"

        return (
            Panel(
                name=self.name,
                title=self.title,
                x_label=self.x_label,
                y_label=f"mean JCT of {self.relative_to} / own mean JCT",
                series=_per_policy(runs, self.published, gain),
                missing=runs.missing,
            ),
        )


def both(*tables: Callable[[Runs], tuple[Panel, ...]]) -> Callable[[Runs], tuple[Panel, ...]]:
    """Several panels from the same runs."""
    return lambda runs: tuple(panel for table in tables for panel in table(runs))


def allocation(runs: Runs) -> tuple[Panel, ...]:
    """Slots in use over two days, looked at every five minutes."""
    at = np.arange(0.0, WATCHED + 1, 5 * MINUTE)

    def used(result: Result) -> Floats:
        events = result.events()
        return _held(events.time, events.busy.astype(np.float64), events.time[0] + at)

    series = [_line(policy, at / HOUR, used(result)) for policy, result in runs.only.items()]
    return (_over_time(runs, series, "GPUs in use"),)


def admissions(runs: Runs) -> tuple[Panel, ...]:
    """How many jobs were submitted in each ten minutes of two days, and how many of them were let in."""
    edges = np.arange(0.0, WATCHED + 1, 10 * MINUTE)
    series = []
    for result in runs.only.values():
        jobs = result.jobs()
        since = jobs.submitted - jobs.submitted.min()
        for name, chosen in (("submitted", since), ("admitted", since[jobs.admitted])):
            counts = np.histogram(chosen[chosen < edges[-1]], edges)[0]
            series.append(_line(name, edges[:-1] / HOUR, counts.astype(np.float64)))
    return (_over_time(runs, series, "jobs in ten minutes", since="submission"),)


def efficiency(runs: Runs) -> tuple[Panel, ...]:
    """Work per second relative to single slots, over time: as the paper samples it, or hourly means."""
    sample = _hourly_means if runs.compat is None else _as_published
    series = []
    for policy, result in runs.only.items():
        events = result.events()
        hours, values = sample(policy, events.time, events.efficiency)
        series.append(_line(policy, hours, values))
    return (_over_time(runs, series, "cluster efficiency"),)


def _per_policy(runs: Runs, published: Published, value: Callable[[str, str], Value]) -> tuple[Series, ...]:
    series = []
    for policy in runs.policies:
        points = []
        for group in runs.figure.groups:
            number, note = value(group.place, policy)
            if (group.place, policy) not in runs.results:
                note = f"{group.trace.name} is not there"
            # The paper does not tell apart by which path Chronus was solved.
            theirs = published.get((policy.removesuffix(GREEDY), group.place))
            points.append(Point(group.place, number, theirs, note))
        series.append(Series(policy, tuple(points)))
    return tuple(series)


def _ratio(runs: Runs, place: str, policy: str) -> Value:
    result = runs.results.get((place, policy))
    if result is None:
        return None, ""
    summary = result.summary
    return summary.ratio, f"{summary.met} of {summary.deadline_jobs}"


def _best_effort_jct(runs: Runs, place: str, policy: str) -> float | None:
    result = runs.results.get((place, policy))
    if result is None:
        return None
    jobs = result.jobs()
    jct = (jobs.finished - jobs.submitted)[jobs.best_effort]
    done = jct[~np.isnan(jct)]
    return float(done.mean()) if len(done) else None


def _over_time(runs: Runs, series: Sequence[Series], y_label: str, since: str = "event") -> Panel:
    return Panel(
        name="",
        title="",
        x_label=f"hours since the first {since}",
        y_label=y_label,
        series=tuple(series),
        missing=runs.missing,
    )


def _line(name: str, x: Floats, y: Floats) -> Series:
    points = zip(x.tolist(), y.tolist(), strict=True)
    return Series(name, tuple(Point(round(at, 6), value) for at, value in points))


def _held(time: Floats, value: Floats, at: Floats) -> Floats:
    """The value of a step function at certain times; nothing after its last step."""
    last = np.searchsorted(time, at, side="right") - 1
    held: Floats = np.where(last >= 0, value[np.maximum(last, 0)], 0.0)
    return held


def _hourly_means(policy: str, time: Floats, value: Floats) -> tuple[Floats, Floats]:
    del policy
    done = np.concatenate([[0.0], np.cumsum(value[:-1] * np.diff(time))])
    edges = np.arange(time[0], time[-1] + HOUR, HOUR)
    means = np.diff(np.interp(edges, time, done)) / HOUR
    return (edges - time[0]) / HOUR, np.append(means, 0.0)


def _as_published(policy: str, time: Floats, value: Floats) -> tuple[Floats, Floats]:
    """Drop events that follow the last kept one within 40 minutes; end with zero."""
    keep = []
    last = -610.0
    for row, at in enumerate(time.tolist()):
        idle = policy.startswith("chronus") and value[row] == 0
        if at - last >= 2400 and not idle:
            keep.append(row)
            last = at
    if not keep:
        return np.zeros(1), np.zeros(1)
    hours = (np.append(time[keep], time[-1]) - time[keep[0]]) / HOUR
    return hours, np.append(value[keep], 0.0)
