"""What was added and is not durable yet: minutes that are still being filled, and those that wait to be written.

It is all in memory, and there is a limit to it: if the database does not take anything for too long, the oldest minutes
are dropped and counted.
"""

from __future__ import annotations

import math
import threading
from array import array
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from tenuto.model.series import Points, Subject
from tenuto.store.series.chunk import MINUTE, Chunk, in_order, laid_over
from tenuto.store.series.codec import decode, encode
from tenuto.wire.sample import Gap

Name: TypeAlias = tuple[str, str]
"""Kind and name of subjects."""
Minute: TypeAlias = tuple[Subject, float]
"""A subject, and when the minute begins."""

SETTLE = 5.0
"""Seconds without a new point after which a minute that is over is written."""
QUIET = 60.0
"""Seconds without a new point after which any minute is written."""
OLDEST = 180.0
"""Seconds after which a minute is written in any case, even if its points never end."""
FORGET = 3600.0
"""Seconds after which nothing is remembered of a name that is silent."""
_OVERHEAD = 1000
"""Bytes that a minute takes beside its numbers, more or less."""
_GAPS = 10_000
"""Gaps that wait at most."""


class Filling:
    """A minute that is being filled, in the order in which its points come."""

    __slots__ = ("at", "born", "columns", "earliest", "touched")

    def __init__(self, now: float) -> None:
        self.at = array("d")
        self.columns: dict[str, array[float]] = {}
        self.born = self.touched = now
        self.earliest = math.inf

    def extend(self, at: Sequence[float], values: Mapping[str, Sequence[float | None]], now: float) -> None:
        """Take points in."""
        before = len(self.at)
        self.at.extend(at)
        self.earliest = min(self.earliest, *at)
        self.touched = now
        for name, column in values.items():
            mine = self.columns.get(name)
            if mine is None:
                mine = self.columns[name] = array("d", (math.nan,)) * before
            mine.extend(_floats(column))
        if len(values) != len(self.columns):
            for mine in self.columns.values():
                mine.extend((math.nan,) * (len(self.at) - len(mine)))

    def chunk(self) -> Chunk:
        """What is in it."""
        names = tuple(self.columns)
        values = np.array([self.columns[name] for name in names], np.float64)
        return in_order(Chunk(np.array(self.at), names, values.reshape(len(names), len(self.at))))

    @property
    def size(self) -> int:
        """Bytes that it takes, more or less."""
        return 8 * len(self.at) * (1 + len(self.columns)) + _OVERHEAD


def _floats(column: Sequence[float | None]) -> array[float]:
    try:
        return array("d", column)  # type: ignore[arg-type]
    except (TypeError, OverflowError):
        return array("d", map(_float, column))


def _float(value: float | None) -> float:
    """Not a number if it is unknown, or larger than any that can be kept."""
    try:
        return math.nan if value is None else float(value)
    except OverflowError:
        return math.nan


class Waiting:
    """A minute that waits to be written; packed, it takes a tenth of the room."""

    __slots__ = ("chunk", "earliest", "newest", "packed", "points")

    def __init__(self, chunk: Chunk) -> None:
        self.chunk: Chunk | None = chunk
        self.packed = b""
        self.earliest, self.newest = float(chunk.at[0]), float(chunk.at[-1])
        self.points = len(chunk.at)

    def open(self) -> Chunk:
        """What is in it."""
        return decode([self.packed])[0] if self.chunk is None else self.chunk

    def pack(self) -> None:
        """Take less room."""
        if self.chunk is not None:
            (self.packed,) = encode([self.chunk])
            self.chunk = None

    @property
    def size(self) -> int:
        """Bytes that it takes, more or less."""
        return _OVERHEAD // 2 + (
            len(self.packed) if self.chunk is None else 8 * self.points * (1 + len(self.chunk.names))
        )


@dataclass(slots=True)
class _OfName:
    """Everything of one kind and name."""

    filling: dict[Minute, Filling] = field(default_factory=dict)
    waiting: dict[Minute, Waiting] = field(default_factory=dict)
    newest: float = -math.inf
    touched: float = 0.0
    durable: float | None = None
    """The newest moment that was made durable; None if nobody has looked yet."""

    def earliest(self) -> float:
        """Of all that is not durable."""
        held = (each.earliest for held in (self.filling, self.waiting) for each in held.values())
        return min(held, default=math.inf)


class Pending:
    """Safe to use from any thread. `now` is a clock that only goes forward."""

    def __init__(self, limit: int) -> None:
        """`limit`: bytes that it may take."""
        self._limit = limit
        self._lock = threading.Lock()
        self._names: dict[Name, _OfName] = {}
        self._gaps: dict[tuple[str, Gap], None] = {}
        self._size = 0
        self.points = 0
        """Taken in so far."""
        self.dropped = 0
        """Points that there was no room for."""

    def add(self, batch: Sequence[Points], now: float) -> None:
        """Take points in. Raises ValueError if their columns do not fit, and takes nothing in then."""
        for points in batch:
            _check(points)
        with self._lock:
            for points in batch:
                if len(points.at):
                    self._add(points, now)
            if self._size > self._limit:
                self._drop()

    def _add(self, points: Points, now: float) -> None:
        subject, at = points.subject, points.at
        mine = self._names.setdefault((subject.kind, subject.name), _OfName())
        mine.touched = now
        mine.newest = max(mine.newest, *at)
        self.points += len(at)
        for minute, indexes in _by_minute(at):
            filling = mine.filling.get((subject, minute))
            if filling is None:
                filling = mine.filling[subject, minute] = Filling(now)
                self._size += _OVERHEAD
            before = filling.size
            if indexes is None:
                filling.extend(at, points.values, now)
            else:
                some = {name: [column[i] for i in indexes] for name, column in points.values.items()}
                filling.extend([at[i] for i in indexes], some, now)
            self._size += filling.size - before

    def _drop(self) -> None:
        """Make room: the oldest minutes go. Afterwards a tenth is free, so that not every point looks for more."""
        oldest = sorted(
            (
                (key[1], of, held, key)
                for of in self._names.values()
                for held in (of.waiting, of.filling)
                for key in held
            ),
            key=lambda found: found[0],
        )
        self._size = sum(held[key].size for _, _, held, key in oldest)
        for _, _, held, key in oldest:
            if self._size <= 0.9 * self._limit:
                break
            gone = held.pop(key)
            self._size -= gone.size
            self.dropped += gone.points if isinstance(gone, Waiting) else len(gone.at)

    def add_gaps(self, node: str, gaps: Sequence[Gap]) -> None:
        """Have gaps, of which the oldest go if there are too many."""
        with self._lock:
            self._gaps.update(((node, gap), None) for gap in gaps)
            while len(self._gaps) > _GAPS:
                del self._gaps[next(iter(self._gaps))]

    def gaps(self) -> list[tuple[str, Gap]]:
        """All that wait."""
        with self._lock:
            return list(self._gaps)

    def gaps_written(self, gaps: Sequence[tuple[str, Gap]]) -> None:
        """These are durable."""
        with self._lock:
            for gap in gaps:
                self._gaps.pop(gap, None)

    def seal(
        self, now: float, at_most: int, *, everything: bool = False, pack: bool = False
    ) -> tuple[list[tuple[Minute, Waiting]], int]:
        """Some minutes to be written, the oldest first, and how many there are: all that wait, and those that are over
        and have settled, or every one."""
        with self._lock:
            due = [
                (minute, of, filling)
                for of in self._names.values()
                for minute, filling in of.filling.items()
                if everything or _is_due(minute, of, filling, now)
            ]
            due.sort(key=lambda found: found[0][1])
            for minute, of, filling in due[:at_most]:
                self._seal(minute, of, filling)
            waiting = [found for of in self._names.values() for found in of.waiting.items()]
            waiting.sort(key=lambda found: found[0][1])
            if pack:
                self._pack([each for _, each in waiting if each.chunk is not None][:at_most])
        return waiting[:at_most], len(waiting) + len(due[at_most:])

    def _pack(self, minutes: Sequence[Waiting]) -> None:
        for waiting in minutes:
            self._size -= waiting.size
            waiting.pack()
            self._size += waiting.size

    def _seal(self, minute: Minute, of: _OfName, filling: Filling) -> None:
        del of.filling[minute]
        self._size -= filling.size
        chunk = filling.chunk()
        if (waiting := of.waiting.get(minute)) is not None:
            self._size -= waiting.size
            chunk = laid_over(waiting.open(), chunk)
        made = of.waiting[minute] = Waiting(chunk)
        self._size += made.size

    def written(self, minutes: Sequence[tuple[Minute, Waiting]]) -> None:
        """These are durable."""
        with self._lock:
            for minute, waiting in minutes:
                of = self._names.get((minute[0].kind, minute[0].name))
                if of is None or of.waiting.get(minute) is not waiting:
                    continue
                del of.waiting[minute]
                self._size -= waiting.size
                of.durable = max(waiting.newest, -math.inf if of.durable is None else of.durable)

    def refused(self, minute: Minute, waiting: Waiting) -> None:
        """Nobody can ever write this."""
        with self._lock:
            of = self._names.get((minute[0].kind, minute[0].name))
            if of is not None and of.waiting.pop(minute, None) is not None:
                self._size -= waiting.size
                self.dropped += waiting.points

    def forget_silent(self, now: float) -> None:
        """Remember nothing of names of which nothing has come for long, and nothing waits."""
        with self._lock:
            for name, of in list(self._names.items()):
                if not of.filling and not of.waiting and now - of.touched > FORGET:
                    del self._names[name]

    def forget(self, name: Name) -> None:
        """Leave nothing of a name."""
        with self._lock:
            of = self._names.pop(name, None)
            if of is not None:
                self._size -= sum(each.size for held in (of.filling, of.waiting) for each in held.values())
            for gap in [gap for gap in self._gaps if name == ("node", gap[0])]:
                del self._gaps[gap]

    def kept(self, name: Name) -> tuple[float | None, float]:
        """The newest durable moment of a name, if anybody knows, and the earliest that is not durable."""
        with self._lock:
            of = self._names.get(name)
            return (None, math.inf) if of is None else (of.durable, of.earliest())

    def looked_up(self, name: Name, durable: float) -> None:
        """What the database says of the newest durable moment."""
        with self._lock:
            of = self._names.setdefault(name, _OfName())
            of.durable = max(durable, -math.inf if of.durable is None else of.durable)

    def of_subject(self, subject: Subject) -> dict[float, Chunk]:
        """What is not durable of a subject, by minutes."""
        with self._lock:
            of = self._names.get((subject.kind, subject.name))
            if of is None:
                return {}
            found = {
                minute: waiting.open() for (whose, minute), waiting in of.waiting.items() if whose == subject
            }
            for (whose, minute), filling in of.filling.items():
                if whose == subject:
                    newer = filling.chunk()
                    found[minute] = laid_over(found[minute], newer) if minute in found else newer
        return found

    def subjects(self) -> set[Subject]:
        """Everything of which something is not durable."""
        with self._lock:
            return {
                minute[0]
                for of in self._names.values()
                for held in (of.filling, of.waiting)
                for minute in held
            }

    @property
    def waiting_points(self) -> int:
        """How many are not durable."""
        with self._lock:
            return sum(
                sum(len(filling.at) for filling in of.filling.values())
                + sum(waiting.points for waiting in of.waiting.values())
                for of in self._names.values()
            )


def _is_due(minute: Minute, of: _OfName, filling: Filling, now: float) -> bool:
    quiet = now - filling.touched
    over = of.newest >= minute[1] + MINUTE
    return quiet >= QUIET or (over and quiet >= SETTLE) or now - filling.born >= OLDEST


def _check(points: Points) -> None:
    """What does not fit would shift everything that comes after it."""
    if not math.isfinite(sum(points.at)) or any(len(c) != len(points.at) for c in points.values.values()):
        raise ValueError(
            f"Points of {points.subject} have moments that are none, or columns of other lengths"
        )


def _by_minute(at: Sequence[float]) -> Iterator[tuple[float, list[int] | None]]:
    """The minutes of moments, and which moments are in each; None for all of them."""
    minutes = [moment // MINUTE * MINUTE for moment in at]
    if minutes.count(minutes[0]) == len(minutes):
        yield minutes[0], None
        return
    places: dict[float, list[int]] = {}
    for index, minute in enumerate(minutes):
        places.setdefault(minute, []).append(index)
    yield from places.items()
