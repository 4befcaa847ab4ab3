"""Some moments of one subject as a table of numbers, which is how they are kept and reckoned with."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Floats: TypeAlias = NDArray[np.float64]
MINUTE = 60.0
HOUR = 3600.0
DAY = 86_400.0


@dataclass(frozen=True, slots=True, eq=False)
class Chunk:
    """Moments in ascending order, none twice, and a row of values for each name; NaN where one is unknown."""

    at: Floats
    names: tuple[str, ...]
    values: Floats

    def row(self, name: str) -> Floats:
        """The values of a name."""
        found: Floats = self.values[self.names.index(name)]
        return found

    def only(self, since: float, until: float) -> Chunk:
        """The moments from `since` to before `until`."""
        first, last = np.searchsorted(self.at, [since, until])
        if first == 0 and last == len(self.at):
            return self
        return Chunk(self.at[first:last], self.names, self.values[:, first:last])

    def called(self, names: Collection[str]) -> Chunk:
        """The values of these names; all, if there are none."""
        if not names or all(name in names for name in self.names):
            return self
        rows = [row for row, name in enumerate(self.names) if name in names]
        return Chunk(self.at, tuple(self.names[row] for row in rows), self.values[rows])


def in_order(chunk: Chunk) -> Chunk:
    """What was put together as it came: sorted, and of equal moments only the last."""
    at = chunk.at
    if len(at) < 2 or bool((at[1:] > at[:-1]).all()):
        return chunk
    order = np.argsort(at, kind="stable")
    chosen = order[np.append(np.diff(at[order]) != 0, True)]
    return Chunk(at[chosen], chunk.names, chunk.values[:, chosen])


def laid_over(older: Chunk, newer: Chunk) -> Chunk:
    """Both; the newer one wins where both know a moment."""
    return in_order(one_after_another([older, newer]))


def one_after_another(chunks: Sequence[Chunk]) -> Chunk:
    """Chunks of which each begins where the one before ends."""
    if not chunks:
        return Chunk(np.empty(0), (), np.empty((0, 0)))
    names = tuple(dict.fromkeys(name for chunk in chunks for name in chunk.names))
    return Chunk(
        np.concatenate([chunk.at for chunk in chunks]),
        names,
        np.concatenate([_values(chunk, names) for chunk in chunks], axis=1),
    )


def _values(chunk: Chunk, names: tuple[str, ...]) -> Floats:
    if chunk.names == names:
        return chunk.values
    values = np.full((len(names), len(chunk.at)), np.nan)
    values[[names.index(name) for name in chunk.names]] = chunk.values
    return values


def as_told(row: Floats) -> list[float | None]:
    """Values for whoever is not to know of NaN."""
    unknown = np.flatnonzero(np.isnan(row))
    if len(unknown) == len(row):
        return [None] * len(row)
    told: list[float | None] = row.tolist()
    for index in unknown.tolist():
        told[index] = None
    return told
