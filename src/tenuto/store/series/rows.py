"""How rows of numbers are written in few bytes (`codec` says in which form), for many rows at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from tenuto.store.series.chunk import Floats

Integers: TypeAlias = NDArray[np.int64]
Flags: TypeAlias = NDArray[np.bool_]

GAPS = 128
_SHORT, _LONG, _EMPTY, _STEPS = 5, 6, 7, 8
WIDTHS: Sequence[np.dtype[Any]] = [
    np.dtype(kind) for kind in ("V0", "<u1", "<u2", "<u4", "<i8", "<f4", "<f8")
]
_SCALES = np.array([1.0, 10.0, 100.0, 1000.0])
_EXACT = 2.0**53
_LIMITS = np.array([1, 1 << 8, 1 << 16, 1 << 32])


class Rows:
    """Rows behind one another, of which each may have a length of its own, but none is empty."""

    def __init__(self, flat: Floats, lengths: Integers) -> None:
        self.flat = flat
        self.lengths = lengths
        self.starts = np.cumsum(lengths) - lengths

    def each(self, of_rows: NDArray[Any]) -> NDArray[Any]:
        """For each number, what is told of its row."""
        return np.repeat(of_rows, self.lengths)


@dataclass(frozen=True, slots=True)
class Description:
    """What must be known of rows beside their numbers."""

    form: NDArray[np.uint8]
    decimals: NDArray[np.uint8]
    first: Integers
    lowest: Integers
    unit: Integers


class Described:
    """Rows in the form in which they take the fewest bytes, to be taken away in their order."""

    def __init__(self, rows: Rows, said: Description, numbers: Integers, unknown: Flags) -> None:
        self._rows = rows
        self._said = said
        self._unknown = unknown
        form = said.form & ~np.uint8(GAPS)
        self._places = np.where(form >= _STEPS, form & 7, form)
        self._blocks = [b""] * len(WIDTHS)
        for place in set(self._places.tolist()) - {0, _EMPTY}:
            source = rows.flat if place in (_SHORT, _LONG) else numbers
            self._blocks[place] = source[rows.each(self._places == place)].astype(WIDTHS[place]).tobytes()
        self._taken = [0] * len(WIDTHS)

    def take(self, first: int, last: int) -> Iterator[bytes]:
        """Everything of the next rows, which are those of one chunk and have one length."""
        said = self._said
        yield said.form[first:last].tobytes()
        yield said.decimals[first:last].tobytes()
        for told in (said.first, said.lowest, said.unit):
            yield told[first:last].astype("<i8").tobytes()
        places, length = self._places[first:last].tobytes(), int(self._rows.lengths[first])
        for place, kind in enumerate(WIDTHS):
            if size := places.count(place) * kind.itemsize * length:
                begin = self._taken[place]
                self._taken[place] += size
                yield self._blocks[place][begin : begin + size]
        if (gaps := said.form[first:last] >= GAPS).any():
            begin = int(self._rows.starts[first])
            unknown = self._unknown[begin : begin + (last - first) * length].reshape(-1, length)
            yield np.packbits(unknown[gaps], axis=1).tobytes()


def described(rows: Rows) -> Described:
    """The shortest form of each row."""
    unknown = np.isnan(rows.flat)
    empty = np.logical_and.reduceat(unknown, rows.starts)
    gaps = np.logical_or.reduceat(unknown, rows.starts) & ~empty
    if unknown.any():
        rows = Rows(_filled(rows, unknown), rows.lengths)
    decimals, numbers, whole = _whole(rows)
    said, numbers = _packed(rows, numbers, decimals)
    short = np.logical_and.reduceat(_halved(rows.flat) == rows.flat, rows.starts)
    form = np.where(whole, said.form, np.where(short, _SHORT, _LONG))
    form = np.where(empty, _EMPTY, form) | np.where(gaps, GAPS, 0)
    said = Description(form.astype(np.uint8), said.decimals, said.first, said.lowest, said.unit)
    return Described(rows, said, numbers, unknown)


def _halved(flat: Floats) -> NDArray[np.float32]:
    with np.errstate(over="ignore"):
        return flat.astype(np.float32)


def _filled(rows: Rows, unknown: Flags) -> Floats:
    """Each unknown value as the known one before it, else the first known one, else 0."""
    here = np.arange(len(unknown))
    known = np.where(unknown, len(unknown), here)
    first = rows.each(np.minimum.reduceat(known, rows.starts))
    before = np.maximum.accumulate(np.where(unknown, -1, here))
    source = np.where(before < rows.each(rows.starts), first, before)
    return np.where(source < len(unknown), rows.flat[np.minimum(source, len(unknown) - 1)], 0.0)


def _whole(rows: Rows) -> tuple[NDArray[np.uint8], Integers, Flags]:
    """The fewest decimals with which each row is whole numbers, these numbers, and whether it is any."""
    wanted = np.zeros(len(rows.flat), np.uint8)
    odd = np.arange(len(rows.flat))
    with np.errstate(over="ignore"):
        for decimals, scale in enumerate(_SCALES):
            wanted[odd] = decimals
            numbers = rows.flat[odd]
            odd = odd[np.rint(numbers * scale) / scale != numbers]
        of_rows = np.maximum.reduceat(wanted, rows.starts)
        scale = rows.each(_SCALES[of_rows])
        scaled = np.rint(rows.flat * scale)
        exact = (np.abs(scaled) < _EXACT) & (scaled / scale == rows.flat)
    whole = np.logical_and.reduceat(exact, rows.starts)
    return of_rows, np.where(rows.each(whole), scaled, 0.0).astype(np.int64), whole


def _packed(rows: Rows, numbers: Integers, decimals: NDArray[np.uint8]) -> tuple[Description, Integers]:
    """Numbers from zero on, and how to find the others again."""
    starts = rows.starts
    lowest = np.minimum.reduceat(numbers, starts)
    above = numbers - rows.each(lowest)
    steps = np.diff(numbers, prepend=numbers[:1])
    after = np.minimum(starts + 1, len(numbers) - 1)
    steps[starts] = np.where(rows.lengths > 1, steps[after], 0)
    least = np.minimum.reduceat(steps, starts)
    steps -= rows.each(least)
    by_steps = _bytes_code(np.maximum.reduceat(steps, starts)) < _bytes_code(
        np.maximum.reduceat(above, starts)
    )
    packed = np.where(rows.each(by_steps), steps, above)
    unit = np.maximum(np.gcd.reduceat(packed, starts), 1)
    packed //= rows.each(unit)
    form = _bytes_code(np.maximum.reduceat(packed, starts)) + _STEPS * by_steps
    first = np.where(by_steps, numbers[starts], 0)
    return Description(
        form.astype(np.uint8), decimals, first, np.where(by_steps, least, lowest), unit
    ), packed


def _bytes_code(largest: Integers) -> Integers:
    """How many bytes take numbers up to these, as their place in WIDTHS."""
    return np.searchsorted(_LIMITS, largest, side="right")


def restored(lengths: Integers, said: Description, blocks: Sequence[bytearray], gaps: bytearray) -> Floats:
    """The numbers of all rows again."""
    form = said.form & ~np.uint8(GAPS)
    rows = Rows(np.empty(0), lengths)
    place_of = rows.each(np.where(form >= _STEPS, form & 7, form))
    numbers = np.zeros(len(place_of), np.int64)
    for place in (1, 2, 3, 4):
        if blocks[place]:
            numbers[place_of == place] = np.frombuffer(blocks[place], WIDTHS[place])
    numbers = numbers * rows.each(said.unit) + rows.each(said.lowest)
    if (by_steps := form >= _STEPS).any():
        numbers[rows.starts[by_steps]] = said.first[by_steps]
        sums = np.cumsum(np.where(rows.each(by_steps), numbers, 0))
        before = sums[rows.starts] - np.where(by_steps, said.first, 0)
        numbers = np.where(rows.each(by_steps), sums - rows.each(before), numbers)
    flat: Floats = numbers / rows.each(_SCALES[said.decimals])
    for place in (_SHORT, _LONG):
        if blocks[place]:
            flat[place_of == place] = np.frombuffer(blocks[place], WIDTHS[place])
    flat[place_of == _EMPTY] = np.nan
    if gaps:
        _open_gaps(flat, rows, np.flatnonzero(said.form >= GAPS), gaps)
    return flat


def _open_gaps(flat: Floats, rows: Rows, with_gaps: Integers, gaps: bytearray) -> None:
    place = 0
    for row in with_gaps.tolist():
        start, length = int(rows.starts[row]), int(rows.lengths[row])
        bits = np.frombuffer(gaps, np.uint8, (length + 7) // 8, place)
        flat[start : start + length][np.unpackbits(bits, count=length).view(bool)] = np.nan
        place += len(bits)
