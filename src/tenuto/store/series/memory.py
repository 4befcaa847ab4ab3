"""The history of numbers in memory: the contract in its plainest form, for tests and platforms that keep nothing."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from tenuto.model.series import NODE, Points, Subject
from tenuto.store.series.base import Found, SeriesQuery
from tenuto.wire.sample import Gap

MINUTE = 60.0
_NO_MOMENT_AFTER = 1e11
Values: TypeAlias = Mapping[str, float | None]
Sums: TypeAlias = dict[str, tuple[float, int]]
"""For each value the sum of what was known, and of how many."""


class MemorySeries:
    """Keeps points in dictionaries, as long as it is told to."""

    def __init__(self, raw: float = 86_400.0, minutes: float = 30 * 86_400.0) -> None:
        self._raw = raw
        self._minutes = minutes
        self._lock = threading.Lock()
        self._points: dict[Subject, dict[float, Values]] = {}
        self._means: dict[Subject, dict[float, Sums]] = {}
        """Of minutes before `_raw_since`, whose points are gone."""
        self._raw_since = 0.0
        self._gaps: dict[str, list[Gap]] = {}
        self.trouble = ""

    def add(self, batch: Sequence[Points]) -> None:
        """Take points in."""
        with self._lock:
            for points in batch:
                mine = self._points.setdefault(points.subject, {})
                for index, at in enumerate(points.at):
                    mine[at] = {name: _known(column[index]) for name, column in points.values.items()}
                self._thin_out(points.subject)

    def _thin_out(self, subject: Subject) -> None:
        """Turn points that are too old into means."""
        points, minutes = self._points[subject], self._means.setdefault(subject, {})
        for at in [at for at in points if at < self._raw_since]:
            _count(minutes.setdefault(at // MINUTE * MINUTE, {}), points.pop(at))

    def add_gaps(self, node: str, gaps: Sequence[Gap]) -> None:
        """Remember of what times there are no samples of a node."""
        with self._lock:
            known = self._gaps.setdefault(node, [])
            known.extend(gap for gap in gaps if gap not in known)

    def kept(self, kind: str, name: str) -> float:
        """The newest moment: memory is all the durability there is here."""
        with self._lock:
            mine = (
                points
                for subject, points in self._points.items()
                if (subject.kind, subject.name) == (kind, name)
            )
            return max((max(points, default=-math.inf) for points in mine), default=-math.inf)

    def read(self, query: SeriesQuery) -> Found:
        """What is known."""
        since, until, step = max(query.since, 0.0), min(query.until, _NO_MOMENT_AFTER), query.step
        if step > 0:
            since, until = since // step * step, -(-until // step * step)
        with self._lock:
            means = dict(self._means.get(query.subject, {}))
            points = dict(self._points.get(query.subject, {}))
            raw_since = self._raw_since
        found = {at: sums for at, sums in means.items() if since <= at < until}
        found |= {at: _count({}, values) for at, values in points.items() if since <= at < until}
        if step > 0:
            found = _over(found, step)
        told = [(at, _means(found[at])) for at in sorted(found)]
        return _found(told, query, raw_since if step == 0 else -math.inf)

    def subjects(
        self, kind: str, name: str = "", part: str = "", limit: int = 10_000, after: Subject | None = None
    ) -> list[Subject]:
        """What is measured, in order."""
        with self._lock:
            found = sorted(self._points)
        like = (s for s in found if s.kind == kind and name in ("", s.name) and s.part.startswith(part))
        return [s for s in like if after is None or s > after][:limit]

    def gaps(self, node: str, since: float, until: float) -> list[Gap]:
        """The gaps of a node that touch a time."""
        with self._lock:
            known = list(self._gaps.get(node, ()))
        return sorted((g for g in known if g.until > since and g.since < until), key=lambda gap: gap.since)

    def forget(self, kind: str, name: str) -> None:
        """Leave nothing of a name."""
        with self._lock:
            for subject in [s for s in self._points if (s.kind, s.name) == (kind, name)]:
                del self._points[subject]
                self._means.pop(subject, None)
            if kind == NODE:
                self._gaps.pop(name, None)

    def flush(self) -> None:
        """Nothing is more durable than it is."""

    def prune(self, now: float) -> int:
        """Turn old points into means, and throw old means away."""
        gone = 0
        with self._lock:
            self._raw_since = max(self._raw_since, (now - self._raw) // MINUTE * MINUTE)
            oldest = min(self._raw_since, (now - self._minutes) // MINUTE * MINUTE)
            for subject in list(self._points):
                self._thin_out(subject)
                means = self._means[subject]
                for at in [at for at in means if at < oldest]:
                    del means[at]
                    gone += 1
                if not means and not self._points[subject]:
                    del self._points[subject], self._means[subject]
            for node, gaps in list(self._gaps.items()):
                self._gaps[node] = [gap for gap in gaps if gap.until >= oldest]
        return gone

    def close(self) -> None:
        """Nothing is held."""


def _known(value: float | None) -> float | None:
    return None if value is None or math.isnan(value) else float(value)


def _count(sums: Sums, values: Values) -> Sums:
    """Count some values in."""
    for name, value in values.items():
        total, count = sums.get(name, (0.0, 0))
        sums[name] = (total, count) if value is None else (total + value, count + 1)
    return sums


def _over(found: Mapping[float, Sums], step: float) -> dict[float, Sums]:
    """The same in steps."""
    steps: dict[float, Sums] = {}
    for at in sorted(found):
        mine = steps.setdefault(at // step * step, {})
        for name, (more, others) in found[at].items():
            total, count = mine.get(name, (0.0, 0))
            mine[name] = (total + more, count + others)
    return steps


def _means(sums: Sums) -> Values:
    return {name: total / count if count else None for name, (total, count) in sums.items()}


def _found(told: Sequence[tuple[float, Values]], query: SeriesQuery, raw_since: float) -> Found:
    shown, more = told[: query.limit], told[query.limit :]
    wanted: Iterable[str] = (name for _, values in shown for name in values)
    names = dict.fromkeys(name for name in wanted if not query.names or name in query.names)
    return Found(
        at=[at for at, _ in shown],
        values={name: [values.get(name) for _, values in shown] for name in names},
        step=query.step,
        following=more[0][0] if more else None,
        means_until=raw_since if shown and shown[0][0] < raw_since else None,
    )
