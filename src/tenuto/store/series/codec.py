"""Chunks as a few hundred bytes each, and back.

    version (1 byte), then deflated:
    moments (uint32), length of the names (uint32), the names as a JSON list
    of each row, the moments first: its form and decimals (uint8), `first`, `lowest` and `unit` (int64)
    the numbers of all rows of 1, 2, 4 and 8 bytes; those that are float32 and float64
    for each row that has gaps, a bit for each moment: whether its value is unknown

Most of what is measured are whole numbers, or decimals with few digits, that stay much the same. So a row's form is

    0 … 4       whole numbers of 0, 1, 2, 4 or 8 bytes:  (lowest + unit * number) / 10 ** decimals
    8 … 12      the same for the steps from one to the next, after `first`
    5, 6        float32, float64
    7           nothing: all is unknown
    + 128       some values are unknown; they are written as the known one before them

What a row holds is found again to the last bit, but for the sign of a zero. Many chunks are gone through at once, all
their rows behind one another: to touch a row takes longer than to reckon with its numbers.
"""

from __future__ import annotations

import json
import struct
import zlib
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from tenuto.store.series.chunk import Chunk
from tenuto.store.series.rows import GAPS, WIDTHS, Description, Integers, Rows, described, restored

VERSION = 1
_HEAD = struct.Struct("<II")
_ROW = 2 + 3 * 8
_USUAL = (
    b'["seconds", "samples_per_second", "values.loss"]'
    b'["step", "samples", "samples_per_second", "workers", "generation"]'
    b'["used", "total", "read", "written"]["received", "sent"]'
    b'["cpu", "load", "ram_used", "ram_total", "swap_used", "swap_total"]'
    b'["utilisation", "memory_used", "memory_total", "power", "power_limit", "temperature", "fan"]'
)
"""Names that need not be spelt out. A change here is another version of the format."""
_PLAIN = bytes((form & ~GAPS) if (form & ~GAPS) in (5, 6, 7) else form & 7 for form in range(256))
"""From a form to the place of its numbers in WIDTHS."""


class Unreadable(ValueError):
    """Bytes that no version of this program has written, or a newer one."""


def encode(chunks: Sequence[Chunk]) -> list[bytes]:
    """The bytes of each chunk; each has a moment at least."""
    if not chunks:
        return []
    moments = [len(chunk.at) for chunk in chunks]
    counts = [len(chunk.names) + 1 for chunk in chunks]
    flat = np.concatenate([part.ravel() for chunk in chunks for part in (chunk.at, chunk.values)])
    rows = described(Rows(flat, np.repeat(moments, counts)))
    written, first = [], 0
    for chunk, count in zip(chunks, counts, strict=True):
        names = _names_written(chunk.names)
        parts = (_HEAD.pack(len(chunk.at), len(names)), names, *rows.take(first, first + count))
        press = zlib.compressobj(6, wbits=-13, memLevel=1, zdict=_USUAL)
        written.append(b"".join((bytes([VERSION]), press.compress(b"".join(parts)), press.flush())))
        first += count
    return written


def decode(payloads: Sequence[bytes]) -> list[Chunk]:
    """The chunk of each."""
    read = [_Read(payload) for payload in payloads]
    said, blocks, gaps = _Said(), [bytearray() for _ in WIDTHS], bytearray()
    for each in read:
        each.share_out(said, blocks, gaps)
    flat = restored(said.lengths(), said.description(), blocks, gaps)
    found, begin = [], 0
    for each in read:
        end = begin + each.moments * each.rows
        table = flat[begin:end].reshape(each.rows, each.moments)
        found.append(Chunk(table[0], each.names, table[1:]))
        begin = end
    return found


class _Said:
    """What is told of rows, gathered from many chunks."""

    def __init__(self) -> None:
        self.marks = (bytearray(), bytearray())
        self.whole = (bytearray(), bytearray(), bytearray())
        self.shapes: list[tuple[int, int]] = []

    def lengths(self) -> Integers:
        """Of each row."""
        shapes = np.array(self.shapes, np.int64).reshape(-1, 2)
        return np.repeat(shapes[:, 1], shapes[:, 0])

    def description(self) -> Description:
        """Of all rows."""
        form, decimals = (np.frombuffer(each, np.uint8) for each in self.marks)
        first, lowest, unit = (np.frombuffer(each, "<i8") for each in self.whole)
        return Description(form, decimals, first, lowest, unit)


class _Read:
    """The bytes of a chunk, and what they begin with."""

    __slots__ = ("_data", "_place", "moments", "names", "rows")

    def __init__(self, payload: bytes) -> None:
        if payload[:1] != bytes([VERSION]):
            raise Unreadable(
                f"A chunk of numbers has the format {payload[:1].hex()}, which is not known here"
            )
        self._data = data = zlib.decompressobj(wbits=-13, zdict=_USUAL).decompress(payload[1:])
        self.moments, length = _HEAD.unpack_from(data)
        self._place = _HEAD.size + length
        self.names = _names_read(data[_HEAD.size : self._place])
        self.rows = len(self.names) + 1

    def share_out(self, said: _Said, blocks: Sequence[bytearray], gaps: bytearray) -> None:
        """Put everything to the like of other chunks."""
        data, place, rows = self._data, self._place, self.rows
        said.shapes.append((rows, self.moments))
        places = data[place : place + rows].translate(_PLAIN)
        for size, gathered in ((rows, said.marks), (8 * rows, said.whole)):
            for part in gathered:
                part.extend(data[place : place + size])
                place += size
        for code, kind in enumerate(WIDTHS):
            if size := places.count(code) * kind.itemsize * self.moments:
                blocks[code] += data[place : place + size]
                place += size
        gaps += data[place:]


@lru_cache(maxsize=1024)
def _names_written(names: tuple[str, ...]) -> bytes:
    return json.dumps(names).encode()


@lru_cache(maxsize=1024)
def _names_read(written: bytes) -> tuple[str, ...]:
    return tuple(json.loads(written))
