"""Reading the history of one subject: raw points where they are kept, means elsewhere, the newest from memory."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from sqlalchemy.sql.elements import ClauseElement

from tenuto.store.driver import Driver
from tenuto.store.series import means, tables
from tenuto.store.series.base import Found, SeriesQuery
from tenuto.store.series.chunk import DAY, HOUR, MINUTE, Chunk, as_told, laid_over, one_after_another
from tenuto.store.series.codec import decode
from tenuto.store.series.pruning import kept_since

_NO_MOMENT_AFTER = 1e11


@dataclass(frozen=True, slots=True)
class Source:
    """Where one subject is read from, in one transaction."""

    driver: Driver
    subject: int | None
    """Its number; None if the database does not know it."""
    newest: Mapping[float, Chunk]
    """Minutes of which something is not in the database yet; they win."""
    names: frozenset[str]
    cut: float
    """Before this moment there are only means."""
    means_since: float
    """Before this moment there is nothing."""

    def raw(self, since: float, until: float) -> Iterator[Chunk]:
        """Points from the one moment to before the other, in pieces of an hour."""
        since = max(since, self.cut)
        newest = {
            m: chunk for m, chunk in self.newest.items() if since < m + MINUTE and m < until and m >= self.cut
        }
        for hour in self._periods(tables.RAW_NEXT, HOUR, since, until, newest):
            minutes = self._raw_minutes(hour, since, until)
            for minute, chunk in newest.items():
                if minute // HOUR * HOUR == hour:
                    minutes[minute] = laid_over(minutes[minute], chunk) if minute in minutes else chunk
            if minutes:
                whole = one_after_another([minutes[minute].called(self.names) for minute in sorted(minutes)])
                yield whole.only(since, until)

    def sums(self, since: float, until: float) -> Iterator[means.Sums]:
        """The sums of minutes that begin from the one moment to before the other, in pieces of a day."""
        since = max(since, self.means_since)
        newest = {m: chunk for m, chunk in self.newest.items() if since <= m < until and m >= self.cut}
        for day in self._periods(tables.MEANS_NEXT, DAY, since, until, newest):
            parts = []
            if chunks := self._chunks(tables.MEANS_DAY, day, HOUR, since, until):
                parts.append(means.read(one_after_another(list(chunks.values()))))
            for minute, chunk in newest.items():
                if minute // DAY * DAY == day:
                    parts.append(means.of_minute(minute, self._whole_minute(minute, chunk)))
            if parts:
                sums = parts[0]
                for newer in parts[1:]:
                    sums = means.replaced(sums, newer)
                yield _called(sums, self.names, since, until)

    def _periods(
        self,
        following: ClauseElement,
        length: float,
        since: float,
        until: float,
        newest: Mapping[float, Chunk],
    ) -> Iterator[float]:
        """The hours or days between two moments in which there may be anything."""
        known = sorted({minute // length * length for minute in newest})
        period = since // length * length
        while period < until:
            row = self.driver.run(following, {"the_period": int(period)}).fetchone()
            stored = math.inf if row[0] is None or self.subject is None else float(row[0])
            period = min([stored, *(each for each in known if each >= period)])
            if period < until:
                yield period
            period += length

    def _raw_minutes(self, hour: float, since: float, until: float) -> dict[float, Chunk]:
        return self._chunks(tables.RAW_HOUR, hour, MINUTE, since, until)

    def _chunks(
        self, statement: ClauseElement, period: float, length: float, since: float, until: float
    ) -> dict[float, Chunk]:
        """What the database has of a period, by the beginnings of its chunks."""
        if self.subject is None:
            return {}
        wanted = {
            "the_hour" if statement is tables.RAW_HOUR else "the_day": int(period),
            "the_subject": self.subject,
            "the_since": int(since // length * length),
            "the_until": math.ceil(until),
        }
        rows = self.driver.run(statement, wanted).fetchall()
        chunks = decode([bytes(payload) for _, payload in rows])
        return {float(begin): chunk for (begin, _), chunk in zip(rows, chunks, strict=True)}

    def _whole_minute(self, minute: float, newer: Chunk) -> Chunk:
        known = self._raw_minutes(minute // HOUR * HOUR, minute, minute + MINUTE)
        return laid_over(known[minute], newer) if minute in known else newer


def find(driver: Driver, subject: int | None, newest: Mapping[float, Chunk], query: SeriesQuery) -> Found:
    """What is known of a subject."""
    cut = kept_since(driver, "raw_since")
    source = Source(driver, subject, newest, query.names, cut, kept_since(driver, "means_since"))
    since, until = max(query.since, 0.0), min(query.until, _NO_MOMENT_AFTER)
    if query.step > 0:
        since = math.floor(since / query.step) * query.step
        until = math.ceil(until / query.step) * query.step
        return _found(_steps(source, since, until, query), query, None)
    parts, count = [], 0
    for piece in _points(source, since, until):
        parts.append(piece)
        count += len(piece.at)
        if count > query.limit:
            break
    return _found(one_after_another(parts), query, cut)


def _points(source: Source, since: float, until: float) -> Iterator[Chunk]:
    """Points as fine as they are kept."""
    for sums in source.sums(since, min(until, source.cut)):
        yield sums.means()
    yield from source.raw(since, until)


def _steps(source: Source, since: float, until: float, query: SeriesQuery) -> Chunk:
    """Means of steps: of minutes where these are enough, which is much less to read."""
    aligned = query.step % MINUTE == 0
    pieces = source.sums(since, until) if aligned else _fine_sums(source, since, until)
    parts, count = [], 0
    for piece in pieces:
        parts.append(means.over(piece, query.step))
        count += len(parts[-1].at)
        if count - len(parts) > query.limit:  # two pieces may have a part each of one step
            break
    if not parts:
        return one_after_another([])
    return means.over(means.one_after_the_other(parts), query.step).means()


def _fine_sums(source: Source, since: float, until: float) -> Iterator[means.Sums]:
    yield from source.sums(since, min(until, source.cut))
    for points in source.raw(since, until):
        yield means.of_points(points)


def _called(sums: means.Sums, names: frozenset[str], since: float, until: float) -> means.Sums:
    """Only some names and some time."""
    within = (sums.at >= since) & (sums.at < until)
    rows = [row for row, name in enumerate(sums.names) if not names or name in names]
    return means.Sums(
        sums.at[within],
        tuple(sums.names[row] for row in rows),
        sums.sums[rows][:, within],
        sums.counts[rows][:, within],
    )


def _found(chunk: Chunk, query: SeriesQuery, cut: float | None) -> Found:
    """The answer, no longer than it may be."""
    at = chunk.at[: query.limit]
    more = len(chunk.at) > query.limit
    return Found(
        at=at.tolist(),
        values={
            name: as_told(row[: query.limit]) for name, row in zip(chunk.names, chunk.values, strict=True)
        },
        step=query.step,
        following=float(chunk.at[query.limit]) if more else None,
        means_until=cut if cut is not None and bool(np.any(at < cut)) else None,
    )
