"""What is old is thrown away in steps that are so small that nobody has to wait for them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from sqlalchemy.sql.elements import ClauseElement

from tenuto.store.driver import Driver
from tenuto.store.series import tables
from tenuto.store.series.chunk import DAY, HOUR, MINUTE

_PAGES = 250
"""Pages of a SQLite file that are given back in one transaction."""
_FREE = 0.25
"""The share of a file that may be free: it will be needed again soon."""


@dataclass(frozen=True, slots=True)
class Retention:
    """For how many seconds numbers are kept."""

    raw: float = 86_400.0
    minutes: float = 30 * 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Removed:
    """What one transaction has thrown away."""

    chunks: int = 0
    subjects: tuple[int, ...] = ()
    finished: bool = False


Step: TypeAlias = Callable[[Driver], Removed]


def remove_old(retention: Retention, now: float, file: bool) -> Iterator[Step]:
    """What is to be done, one after the other, each until it is finished; `file`: the database is a SQLite file."""
    raw_since = (now - retention.raw) // MINUTE * MINUTE
    means_since = min(raw_since, (now - retention.minutes) // MINUTE * MINUTE)
    yield lambda driver: _move(driver, {"raw_since": raw_since, "means_since": means_since}, now)
    yield _Thinner(tables.RAW_THINNING, tables.RAW_NEXT, raw_since, HOUR).step
    yield _Thinner(tables.MEANS_THINNING, tables.MEANS_NEXT, means_since // HOUR * HOUR, DAY).step
    yield lambda driver: _remove_silent(driver, means_since)
    yield lambda driver: _remove_gaps(driver, now - max(retention.raw, retention.minutes))
    if file:
        yield _give_back


def _move(driver: Driver, begins: Mapping[str, float], now: float) -> Removed:
    """From now on nothing is told of what goes. The moments do not go back: what is gone is gone.

    A clock that was ahead may have put them into the future. Everything before now has gone then, and no more.
    """
    words = tables.WORDINGS[driver.dialect].put[tables.about]
    for key, since in begins.items():
        known = kept_since(driver, key)
        wanted = now // MINUTE * MINUTE if known > now else max(since, known)
        if wanted != known:
            driver.run(words, {"key": key, "value": wanted})
    return Removed(finished=True)


def kept_since(driver: Driver, key: str) -> float:
    """Before this moment nothing is kept of `raw_since` points, or `means_since`."""
    row = driver.run(tables.ABOUT, {"the_key": key}).fetchone()
    return float(row[0]) if row else 0.0


class _Thinner:
    """Removes the chunks of a table that begin before a moment: period by period, some subjects at a time."""

    def __init__(self, words: tables.Thinning, following: ClauseElement, until: float, length: float) -> None:
        self._words = words
        self._following = following
        self._until = until
        self._length = length
        self._period = 0.0
        self._after = -1

    def step(self, driver: Driver) -> Removed:
        """One transaction."""
        if self._after < 0:
            row = driver.run(self._following, {"the_period": int(self._period)}).fetchone()
            if row[0] is None or row[0] >= self._until:
                return Removed(finished=True)
            self._period = float(row[0])
        meant = {"the_period": int(self._period), "the_after": self._after, "the_until": int(self._until)}
        last = driver.run(self._words.some, meant).fetchone()[0]
        if last is None:
            self._period, self._after = self._period + self._length, -1
            return Removed()
        gone = driver.run(self._words.remove, {**meant, "the_last": last}).rowcount
        self._after = int(last)
        return Removed(chunks=gone)


def _remove_silent(driver: Driver, since: float) -> Removed:
    """Subjects of which nothing is left."""
    wanted = {"the_newest": int(since // HOUR * HOUR)}
    gone = tuple(int(row[0]) for row in driver.run(tables.SILENT, wanted).fetchall())
    if gone:
        driver.run(tables.REMOVE_SUBJECT, [{"the_id": subject} for subject in gone])
    return Removed(subjects=gone, finished=len(gone) < tables.STEP)


def _remove_gaps(driver: Driver, until: float) -> Removed:
    driver.run(tables.REMOVE_OLD_GAPS, {"the_until": until})
    return Removed(finished=True)


def _give_back(driver: Driver) -> Removed:
    """Free pages are used again; the file becomes shorter only if there are very many, as after a shorter retention."""
    free = int(driver.tell("PRAGMA freelist_count").fetchone()[0])
    pages = int(driver.tell("PRAGMA page_count").fetchone()[0])
    if free <= max(_FREE * pages, _PAGES):
        return Removed(finished=True)
    driver.tell(f"PRAGMA incremental_vacuum({_PAGES})").fetchall()
    return Removed(finished=int(driver.tell("PRAGMA freelist_count").fetchone()[0]) >= free)


def remove_name(driver: Driver, kind: str, name: str) -> list[int]:
    """Leave nothing of a name; returns the numbers of its subjects."""
    subjects = [
        int(row[0]) for row in driver.run(tables.OF_NAME, {"the_kind": kind, "the_name": name}).fetchall()
    ]
    for following, remove, length in (
        (tables.RAW_NEXT, tables.REMOVE_RAW_OF, HOUR),
        (tables.MEANS_NEXT, tables.REMOVE_MEANS_OF, DAY),
    ):
        period = driver.run(following, {"the_period": 0}).fetchone()[0] if subjects else None
        while period is not None:
            driver.run(remove, [{"the_period": period, "the_subject": subject} for subject in subjects])
            period = driver.run(following, {"the_period": int(period + length)}).fetchone()[0]
    if subjects:
        driver.run(tables.REMOVE_SUBJECT, [{"the_id": subject} for subject in subjects])
    return subjects
