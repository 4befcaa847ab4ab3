"""Numbers over time for people: one line each, all on one axis, with holes where nothing was seen."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from itertools import pairwise
from math import ceil, floor, isfinite
from statistics import median
from typing import TYPE_CHECKING, Any, TypeAlias

from tenuto.cli.humane import clock, parsed, span
from tenuto.cli.printing import table_of
from tenuto.cli.sparkline import sparkline
from tenuto.errors import NotFound
from tenuto.model.phase import ENDED

if TYPE_CHECKING:
    from rich.table import Table

    from tenuto.client.plain import Json, PlainClient

WIDTH = 48
HOLE = "·"
STRETCH = 2.5
"""Between two points nothing is missing if they are no farther apart than so many usual distances."""
MOST_WORKERS = 16
"""Lines for workers; more would hide the rest."""
MOST_GAPS = 5
RECENT = timedelta(minutes=2)
"""What is called the last value is of this time, not the mean of what a character stands for."""
AFTERMATH = timedelta(seconds=2)
"""The last numbers of a job are told when it has just ended."""
BEFORE_START = timedelta(seconds=10)
"""The first records of a job may be older than the time at which the controller saw that it runs."""
_UNITS = {"B": 1.0, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30, "TiB": 2.0**40}


@dataclass(frozen=True, slots=True)
class Whose:
    """Whose numbers are meant, of which time."""

    kind: str
    name: str = ""
    """Of a node; a job's id."""
    since: str = "1h"
    until: str | None = None
    names: frozenset[str] = frozenset()
    """Only these of the values that a job reports; all, if empty."""


@dataclass(frozen=True, slots=True)
class Held:
    """A GPU, and when the job held it."""

    node: str
    part: str
    times: list[tuple[float, float]]


@dataclass(frozen=True, slots=True)
class Seen:
    """Everything that was found."""

    since: str
    until: str
    items: list[Json]
    gaps: list[Json]
    held: list[Held] = field(default_factory=list)
    newest: list[Json] = field(default_factory=list)
    """The same subjects in the last minutes, as exactly as they are known."""

    def json(self) -> Json:
        """For programs."""
        return {"since": self.since, "until": self.until, "items": self.items, "gaps": self.gaps}


@dataclass(frozen=True, slots=True)
class Line:
    """One value of one subject, and how it went."""

    what: str
    whose: str
    unit: str
    at: Sequence[float]
    values: Sequence[float | None]
    times: Sequence[tuple[float, float]] | None = None
    """Only what is within these is told; None for all."""
    lasts: bool = True
    """A value is true until the next one; else it tells of a moment."""
    newest: float | None = None
    """The last value itself, if it is known."""


def look(client: PlainClient, whose: Whose) -> Seen:
    """Ask for everything of a job, a node or the cluster; of a job also for the GPUs that it held."""
    seen = _with_newest(client, whose.kind, whose, part="*", name=whose.name)
    if whose.kind != "job":
        return seen
    fixed = Whose("node", since=seen.since, until=seen.until)
    held = list(_held(client, whose.name))
    for node in dict.fromkeys(one.node for one in held):
        mine = {one.part for one in held if one.node == node}
        found = _with_newest(client, "node", fixed, name=node, part="gpu:")
        seen.items.extend(item for item in found.items if item["part"] in mine)
        seen.newest.extend(found.newest)
        seen.gaps.extend(found.gaps)
    return replace(seen, held=held)


def since_of(job: Json) -> tuple[str, str | None]:
    """The time in which a job ran, or waits; its first records and its end are within it."""
    began = job["submitted_at"]
    if job["started_at"]:
        began = max(parsed(began), parsed(job["started_at"]) - BEFORE_START).isoformat()
    if job["state"] not in ENDED or not job["ended_at"]:
        return began, None
    return began, (parsed(job["ended_at"]) + AFTERMATH).isoformat()


def table(seen: Seen, whose: Whose) -> Table | None:
    """Everything on one axis; None if nothing is known."""
    lines = [line for line in _lines(seen, whose) if any(value is not None for value in line.values)]
    if not lines:
        return None
    axis = Axis.of(seen)
    rows = [(line.what, line.whose, *told) for line in lines if any(told := _told(line, axis))]
    return table_of(("what", "of", "least", "last", "most", axis.title()), rows)


def remarks(seen: Seen) -> Iterator[str]:
    """What a table does not tell: why nothing was seen."""
    now = datetime.now().astimezone()
    for gap in seen.gaps[-MOST_GAPS:]:
        begin = clock(datetime.fromtimestamp(gap["since"]).astimezone(), now)
        long = span(gap["until"] - gap["since"])
        yield f"Nothing is known of {gap['node']} from {begin} for {long}: {gap['why']}"
    if len(seen.gaps) > MOST_GAPS:
        yield f"There are {len(seen.gaps) - MOST_GAPS} earlier gaps; --json tells all."


@dataclass(frozen=True, slots=True)
class Axis:
    """The time that all lines share: so many parts of so many seconds."""

    begin: float
    step: float
    parts: int

    @classmethod
    def of(cls, seen: Seen) -> Axis:
        """The axis of everything that was found."""
        since, until = parsed(seen.since).timestamp(), parsed(seen.until).timestamp()
        step = max([item["step"] for item in seen.items if item["step"]] or [(until - since) / WIDTH])
        begin = floor(since / step) * step
        return cls(begin, step, max(1, ceil((until - begin) / step)))

    def title(self) -> str:
        """From when to when, and what a character stands for."""
        now = datetime.now().astimezone()
        ends = (self.begin, self.begin + self.step * self.parts)
        begin, end = (clock(datetime.fromtimestamp(one).astimezone(), now) for one in ends)
        each = span(self.step) if self.step >= 1 else f"{self.step:g} s"
        return f"{begin} to {end}, {each} a character"

    def course(self, line: Line) -> list[float | None]:
        """The values of a line on this axis; nothing stands where nothing was seen."""
        sums: dict[int, list[float]] = {}
        for at, value in zip(line.at, line.values, strict=True):
            part = int((at - self.begin) // self.step)
            if value is not None and 0 <= part < self.parts:
                sums.setdefault(part, []).append(value)
        means = {part: sum(found) / len(found) for part, found in sums.items()}
        course = _filled(means, self.parts) if line.lasts else [means.get(part) for part in range(self.parts)]
        if line.times is None:
            return course
        return [value if self._is_within(part, line.times) else None for part, value in enumerate(course)]

    def _is_within(self, part: int, times: Sequence[tuple[float, float]]) -> bool:
        begin = self.begin + part * self.step
        return any(since < begin + self.step and begin < until for since, until in times)


def _filled(known: Mapping[int, float], parts: int) -> list[float | None]:
    """A course in which a value lasts until the next one, unless that is missing."""
    places = sorted(known)
    usual = median([later - earlier for earlier, later in pairwise(places)] or [1])
    course: list[float | None] = [None] * parts
    for place, following in pairwise([*places, parts]):
        missing = following - place > STRETCH * usual
        for part in range(place, place + 1 if missing else following):
            course[part] = known[place]
    return course


def _told(line: Line, axis: Axis) -> tuple[str, ...]:
    course = axis.course(line)
    known = [value for value in line.values if value is not None and isfinite(value)]
    if line.times is not None:
        known = [value for value in course if value is not None]
    if not known:
        return ("", "", "", "")
    last = known[-1] if line.newest is None else line.newest
    numbers = (min(*known, last), last, max(*known, last))
    return (*(_amount(number, line.unit) for number in numbers), sparkline(course, axis.parts, HOLE))


def _amount(value: float, unit: str) -> str:
    if unit in ("bytes", "bytes/s"):
        name, size = next(
            ((name, size) for name, size in reversed(_UNITS.items()) if abs(value) >= size), ("B", 1.0)
        )
        return f"{value / size:.3g} {name}{'/s' if unit == 'bytes/s' else ''}"
    short = {"percent": " %", "watts": " W", "celsius": " °C", "milliseconds": " ms", "seconds": " s"}
    number = f"{value:,.0f}" if 10_000 <= abs(value) < 1e15 else f"{value:.4g}"
    return f"{number}{short.get(unit, '')}"


Drawn: TypeAlias = "tuple[Line, Json, str]"
"""A line, and where it comes from: the subject and the name of its value."""
_NODE = ("cpu", "load", "ram_used", "used", "read", "written", "received", "sent")
_GPU = ("utilisation", "memory_used", "power", "temperature")


def _lines(seen: Seen, whose: Whose) -> Iterator[Line]:
    """One for each value, with the last one itself instead of a mean."""
    newest = {(item["kind"], item["name"], item["part"]): item for item in seen.newest}
    for line, item, name in _drawn(seen, whose):
        yield replace(
            line, newest=_newest(newest.get((item["kind"], item["name"], item["part"])), name, line)
        )


def _newest(item: Json | None, name: str, line: Line) -> float | None:
    """The last known value of the last minutes, if it is of a time that is meant."""
    if item is None or name not in item["values"]:
        return None
    known = [
        (at, value) for at, value in zip(item["at"], item["values"][name], strict=True) if value is not None
    ]
    if not known or not line.lasts:
        return None
    at, value = known[-1]
    is_meant = line.times is None or any(since <= at <= until for since, until in line.times)
    return value if is_meant else None


def _drawn(seen: Seen, whose: Whose) -> Iterator[Drawn]:
    by_part = {(item["kind"], item["name"], item["part"]): item for item in seen.items}
    if whose.kind == "job":
        yield from _job_lines(by_part, whose)
        for held in seen.held:
            if item := by_part.get(("node", held.node, held.part)):
                yield from _chosen(item, _GPU[:2], f"{held.node} {held.part}", held.times)
        return
    for item in seen.items:
        if item["part"] != "cores":
            wanted = (*_NODE, *_GPU) if whose.kind == "node" else tuple(item["values"])
            yield from _chosen(item, wanted, item["part"] or whose.name or "cluster")


def _job_lines(items: Mapping[tuple[str, str, str], Json], whose: Whose) -> Iterator[Drawn]:
    mine = {part: item for (kind, _, part), item in items.items() if kind == "job"}
    if "" in mine:
        yield from _chosen(mine[""], ("samples_per_second",), "job")
    if "values" in mine:
        names = [name for name in mine["values"]["values"] if not whose.names or name in whose.names]
        yield from _chosen(mine["values"], names, "job")
    nodes = [item for part, item in mine.items() if part.startswith("node:")]
    for item in nodes if len(nodes) > 1 else ():
        yield from _chosen(item, ("samples_per_second",), item["part"].removeprefix("node:"))
    workers = [item for part, item in mine.items() if part.startswith("worker:")]
    for item in workers[-MOST_WORKERS:]:
        yield from _chosen(item, ("seconds",), item["part"].removeprefix("worker:"))
    if "" in mine:
        yield from _chosen(mine[""], ("workers",), "job")
    if "rescale" in mine:
        yield from _chosen(mine["rescale"], ("pause_ms",), "rescales")


_WORDS = {
    "samples_per_second": "samples/s",
    "seconds": "seconds a step",
    "memory_used": "memory",
    "ram_used": "RAM",
    "pause_ms": "pause",
}


def _chosen(
    item: Json, names: Iterable[str], whose: str, times: Sequence[tuple[float, float]] | None = None
) -> Iterator[Drawn]:
    for name in names:
        if name in item["values"]:
            word = name if item["part"] == "values" else _WORDS.get(name, name)
            unit = "" if name == "seconds" else item["units"].get(name, "")
            lasts = item["part"] != "rescale"
            yield Line(word, whose, unit, item["at"], item["values"][name], times, lasts), item, name


def _with_newest(client: PlainClient, kind: str, whose: Whose, **query: Any) -> Seen:
    """Everything of a time, and the end of it more exactly."""
    seen = _all(client, kind, whose, **query)
    end = parsed(seen.until)
    begin = max(parsed(seen.since), end - RECENT)
    if not seen.items or begin >= end:
        return seen
    last = replace(whose, since=begin.isoformat(), until=end.isoformat())
    points = int(RECENT.total_seconds()) + 1
    return replace(seen, newest=_all(client, kind, last, points=points, **query).items)


def _all(client: PlainClient, kind: str, whose: Whose, **query: Any) -> Seen:
    """All pages of subjects; points are as many as a line has characters."""
    asked = {"since": whose.since, "until": whose.until, "points": WIDTH, "limit": 200, **query}
    page = client.numbers(kind, **asked)
    seen = Seen(page["since"], page["until"], page["items"], page["gaps"])
    while page["next"] is not None:
        page = client.numbers(kind, **asked, cursor=page["next"])
        seen.items.extend(page["items"])
        seen.gaps.extend(page["gaps"])
    return seen


def _held(client: PlainClient, job: str) -> Iterator[Held]:
    """The GPUs that a job held at any time, in order."""
    times: dict[tuple[str, int], list[tuple[float, float]]] = {}
    cursor = None
    while True:
        page = client.attempts(job, limit=500, cursor=cursor)
        for one in page["items"]:
            if one["slot"] is not None and one["started_at"]:
                ended = parsed(one["ended_at"]).timestamp() if one["ended_at"] else time.time()
                begun = parsed(one["started_at"]).timestamp()
                times.setdefault((one["node"], one["slot"]), []).append((begun, ended))
        cursor = page["next"]
        if cursor is None:
            break
    devices = {node: _devices(client, node) for node in dict.fromkeys(node for node, _ in times)}
    for (node, slot), found in sorted(times.items()):
        if device := devices[node].get(slot, ""):
            yield Held(node, f"gpu:{device}", found)


def _devices(client: PlainClient, node: str) -> Mapping[int, str]:
    """The GPU of each slot of a node; none for CPU shares, or if the node is gone."""
    try:
        return {slot["index"]: slot["device"] for slot in client.node(node)["slots"]}
    except NotFound:
        return {}
