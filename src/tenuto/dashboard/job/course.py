"""How a job went, as numbers over time: what was asked for before and what is new are put together. Pure.

An open page asks only for what it does not have yet; everything is asked for again when points must be coarser.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from statistics import median

from tenuto.model.phase import ENDED
from tenuto.model.series import step_of
from tenuto.wire.replies import JobOut
from tenuto.wire.series import ColumnsOut

POINTS = 300
"""Of a line, at most."""
RANGES: Mapping[str, float | None] = {"Whole run": None, "Last hour": 3600.0, "Last 10 min": 600.0}
_AFTERMATH = 2.0
"""Seconds: the last numbers of a job are told when it has just ended."""
_STRETCH = 2.5
"""Between two points nothing is missing if they are no farther apart than so many usual distances."""
_LATE = 15.0
"""Seconds that numbers are usually on their way at most."""
_ANEW = 30.0
"""Seconds after which everything is asked for again: a node that was cut off brings what it measured later."""

Point = tuple[float, float | None]
Key = tuple[str, str, str]
"""The name of a subject (a job or node), its part, and the name of the value."""


@dataclass(frozen=True, slots=True)
class Window:
    """A time that is looked at, in Unix seconds."""

    since: float
    until: float
    open: bool
    """It goes on."""

    @property
    def step(self) -> float:
        """Seconds of which a point is the mean, so that there are not too many."""
        least = (self.until - self.since) / (POINTS - 1)
        return step_of(least)


def unix(at: str) -> float:
    """A moment of the API in seconds."""
    return datetime.fromisoformat(at).timestamp()


def window(job: JobOut, length: float | None, now: float) -> Window:
    """The time in which a job ran or waits; with a `length` the end of that."""
    begin = unix(job.started_at or job.submitted_at)
    ended = unix(job.ended_at) + _AFTERMATH if job.state in ENDED and job.ended_at else None
    until = max(now if ended is None else ended, begin + 1.0)
    since = begin if length is None else max(begin, until - length)
    return Window(since, until, ended is None)


@dataclass
class Course:
    """What is known of a time."""

    step: float = 0.0
    lines: dict[Key, list[Point]] = field(default_factory=dict)
    begun: float | None = None
    """The first moment that was asked for."""
    upto: float = 0.0
    """The last one."""
    whole: float = 0.0
    """When all of it was asked for."""

    def since(self, seen: Window) -> float:
        """From when on to ask; all of it, if what is there is too fine, of another time, or from a while ago."""
        other = self.begun is None or seen.step != self.step or seen.since < self.begun
        if other:
            self.step, self.begun, self.lines = seen.step, seen.since, {}
        if other or seen.until - self.whole > _ANEW:
            self.whole = seen.until
            return seen.since
        return max(seen.since, self.upto - 2 * self.step - _LATE)

    def add(self, items: Iterable[ColumnsOut], since: float, seen: Window) -> None:
        """Take what was answered in the place of what was known of that time."""
        self.upto = seen.until
        whole = since // self.step * self.step
        for item in items:
            for name, values in item.values.items():
                line = self.lines.setdefault((item.name, item.part, name), [])
                del line[bisect_left(line, (whole,)) :]
                line += [point for point in zip(item.at, values, strict=True) if point[1] is not None]
        for line in self.lines.values():
            del line[: bisect_left(line, (seen.since - self.step,))]

    def of(self, part: str, name: str) -> list[Point]:
        """One line, with holes where nothing was measured."""
        found = next((line for key, line in self.lines.items() if key[1:] == (part, name)), [])
        return with_holes(found, self.step)

    def parts(self, prefix: str, name: str) -> dict[str, list[Point]]:
        """The lines of all parts whose names begin so, by the rest of them."""
        return {
            key[1].removeprefix(prefix): with_holes(line, self.step)
            for key, line in self.lines.items()
            if key[1].startswith(prefix) and key[2] == name and line
        }

    def names(self, part: str) -> list[str]:
        """The values of a part of which something is known."""
        return [key[2] for key, line in self.lines.items() if key[1] == part and line]


def with_holes(points: list[Point], step: float) -> list[Point]:
    """A line that is broken where something is missing."""
    if len(points) < 3:
        return list(points)
    usual = max(median(later[0] - earlier[0] for earlier, later in pairwise(points)), step)
    made = [points[0]]
    for earlier, later in pairwise(points):
        if later[0] - earlier[0] > _STRETCH * usual:
            made.append((earlier[0] + usual, None))
        made.append(later)
    return made


def steps_a_second(steps: list[Point], over: float) -> list[Point]:
    """The speed of a program that tells steps but no samples, over so many seconds; a step back is a new start."""
    made: list[Point] = []
    run: deque[tuple[float, float]] = deque()
    for at, step in steps:
        if step is None or (run and step < run[-1][1]):
            made.append((at, None))
            run.clear()
        if step is None:
            continue
        run.append((at, step))
        while len(run) > 2 and run[1][0] <= at - over:
            run.popleft()
        if at > run[0][0]:  # several steps may be told at one moment
            made.append((at, (step - run[0][1]) / (at - run[0][0])))
    return made


def lasting(points: list[Point], until: float) -> list[Point]:
    """A line of sizes up to a moment: the last one is true until another is told."""
    return [*points, (until, points[-1][1])] if points and points[-1][0] < until else list(points)


def means(lines: Iterable[list[Point]]) -> list[Point]:
    """One line for many."""
    sums: dict[float, list[float]] = {}
    for line in lines:
        for at, value in line:
            if value is not None:
                sums.setdefault(at, []).append(value)
    return [(at, sum(found) / len(found)) for at, found in sorted(sums.items())]
