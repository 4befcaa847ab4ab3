"""Sums of what was known within some time, and how many values that were: from them follow means of any longer time.

A row of sums stands for the time that begins at its moment: a minute in the store, nothing but a moment for a raw
point. They are kept as a chunk: the sum of a value under its name, and how many they were under `#NAME`, or once under
`#` where that is the same for all names, as it nearly always is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tenuto.store.series.chunk import MINUTE, Chunk, Floats, in_order, one_after_another

_COUNT = "#"
_VALUE = "="


@dataclass(frozen=True, slots=True, eq=False)
class Sums:
    """A row of sums and one of counts for each name."""

    at: Floats
    names: tuple[str, ...]
    sums: Floats
    counts: Floats

    def means(self) -> Chunk:
        """The mean of each row's time; NaN if nothing was known."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return Chunk(self.at, self.names, self.sums / self.counts)


def of_points(chunk: Chunk) -> Sums:
    """Each point on its own."""
    known = ~np.isnan(chunk.values)
    return Sums(chunk.at, chunk.names, np.where(known, chunk.values, 0.0), known.astype(np.float64))


def over(sums: Sums, step: float) -> Sums:
    """The same in steps of `step` seconds, which begin at multiples of it."""
    if not len(sums.at):
        return sums
    begins = np.floor(sums.at / step) * step
    first = np.flatnonzero(np.append(True, np.diff(begins) != 0))
    return Sums(
        begins[first],
        sums.names,
        np.add.reduceat(sums.sums, first, axis=1) if sums.names else sums.sums[:, first],
        np.add.reduceat(sums.counts, first, axis=1) if sums.names else sums.counts[:, first],
    )


def of_minute(minute: float, chunk: Chunk) -> Sums:
    """The sums of points that are all within one minute."""
    known = ~np.isnan(chunk.values)
    sums = np.where(known, chunk.values, 0.0).sum(axis=1, keepdims=True)
    return Sums(np.array([minute]), chunk.names, sums, known.sum(axis=1, keepdims=True, dtype=np.float64))


def written(sums: Sums) -> Chunk:
    """As they are kept."""
    names = tuple(f"{_VALUE}{name}" for name in sums.names)
    if len(names) and bool((sums.counts == sums.counts[:1]).all()):
        return Chunk(sums.at, (*names, _COUNT), np.vstack((sums.sums, sums.counts[:1])))
    counted = tuple(f"{_COUNT}{name}" for name in sums.names)
    return Chunk(sums.at, names + counted, np.vstack((sums.sums, sums.counts)))


def read(chunk: Chunk) -> Sums:
    """What `written` has made; or several of it, one after another."""
    names = tuple(name[1:] for name in chunk.names if name.startswith(_VALUE))
    rows = {name: row for row, name in enumerate(chunk.names)}
    sums = chunk.values[[rows[f"{_VALUE}{name}"] for name in names]]
    counts = np.full(sums.shape, np.nan)
    for row, name in enumerate(names):
        if f"{_COUNT}{name}" in rows:
            counts[row] = chunk.values[rows[f"{_COUNT}{name}"]]
    if _COUNT in rows:
        counts = np.where(np.isnan(counts) & ~np.isnan(sums), chunk.values[rows[_COUNT]], counts)
    known = ~np.isnan(counts)
    return Sums(chunk.at, names, np.where(known, sums, 0.0), np.where(known, counts, 0.0))


def one_after_the_other(all_sums: Sequence[Sums]) -> Sums:
    """Sums of which each begins where the one before ends."""
    sums = one_after_another([Chunk(each.at, each.names, each.sums) for each in all_sums])
    counts = one_after_another([Chunk(each.at, each.names, each.counts) for each in all_sums]).values
    known = ~np.isnan(counts)  # of a name that not all of them have
    return Sums(sums.at, sums.names, np.where(known, sums.values, 0.0), np.where(known, counts, 0.0))


def replaced(older: Sums, newer: Sums) -> Sums:
    """Both; the newer ones stand where both tell of a time."""
    both = one_after_the_other([older, newer])
    if older.at[-1] < newer.at[0]:
        return both
    sums = in_order(Chunk(both.at, both.names, both.sums))
    return Sums(sums.at, sums.names, sums.values, in_order(Chunk(both.at, both.names, both.counts)).values)


def added(older: Sums, newer: Sums) -> Sums:
    """Both; together where both tell of a minute."""
    both = one_after_the_other([older, newer])
    order = np.argsort(both.at, kind="stable")
    return over(Sums(both.at[order], both.names, both.sums[:, order], both.counts[:, order]), MINUTE)
