"""Reads the server's log: the newest lines, those before and those after; through files that were set aside.

A position is a file's inode and an offset in it, which stay true when the file is set aside under another name; and
a mark of how the file begins, because the system gives the inode of a deleted file to a new one.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple
from zlib import crc32

from tenuto.errors import InputInvalid

_BLOCK = 1 << 16
LONGEST_LINE = 10_000
"""Bytes of a line that are shown."""
MOST_READ = 32 << 20
"""Bytes that are looked through for one page; the next page goes on behind them."""
_HEAD = 128
"""Bytes by which a file is recognised."""
_POSITION = re.compile(r"(\d{1,20})-(\d{1,20})-(\d{1,10})")


class Position(NamedTuple):
    """A place in one of the files."""

    inode: int
    offset: int
    mark: int
    """Of the first bytes before it."""

    def __str__(self) -> str:
        return f"{self.inode}-{self.offset}-{self.mark}"

    @classmethod
    def parse(cls, text: str, field: str) -> Position:
        """Read what `str` wrote."""
        if (found := _POSITION.fullmatch(text)) is None:
            raise InputInvalid(
                "this is no place in the log", remedy="Use next or earlier of another page", field=field
            )
        return cls(int(found[1]), int(found[2]), int(found[3]))


@dataclass(frozen=True, slots=True)
class LogPage:
    """Lines, oldest first."""

    lines: list[str]
    next: Position
    """Behind the last of them."""
    earlier: Position | None
    """Before the first of them; None if nothing is there."""


_NOWHERE = Position(0, 0, 0)


class _File(NamedTuple):
    stream: BinaryIO
    inode: int
    size: int
    head: bytes

    def at(self, offset: int) -> Position:
        return Position(self.inode, offset, crc32(self.head[:offset]))

    def holds(self, place: Position) -> bool:
        return place.offset <= self.size and self.at(place.offset) == place


def newest_lines(path: Path, limit: int, before: str = "", grep: str = "") -> LogPage:
    """The last lines that contain `grep`, or the last ones before a position."""
    start = Position.parse(before, "before") if before else None
    with ExitStack() as opened:
        files = _open(path, opened)
        end = files[-1].at(files[-1].size) if files else _NOWHERE
        found: list[tuple[Position, str]] = []
        read, last = 0, end
        for place, line in _backwards(files, start or end):
            read += len(line)
            last = place
            if grep.encode() in line:
                found.append((place, _shown(line)))
            if len(found) >= limit or read > MOST_READ:
                break
        else:
            last = _NOWHERE
        more = last.inode and last != _first(files)
        return LogPage([line for _, line in reversed(found)], start or end, last if more else None)


def lines_after(path: Path, limit: int, after: str, grep: str = "") -> LogPage:
    """The first lines behind a position that contain `grep`; all there are if that was set aside too long ago."""
    start = Position.parse(after, "after")
    with ExitStack() as opened:
        files = _open(path, opened)
        if not any(file.holds(start) for file in files):
            start = _first(files)
        found: list[str] = []
        read, last = 0, start
        for place, line in _forwards(files, start):
            read += len(line)
            last = place
            if grep.encode() in line:
                found.append(_shown(line))
            if len(found) >= limit or read > MOST_READ:
                break
        return LogPage(found, last, start if start != _first(files) else None)


def _open(path: Path, opened: ExitStack) -> list[_File]:
    """The log and what was set aside, oldest first; each once, whatever is renamed meanwhile."""
    files: dict[int, _File] = {}
    for number in range(1000):
        name = path if number == 0 else path.with_name(f"{path.name}.{number}")
        try:
            stream = opened.enter_context(name.open("rb"))
        except OSError:
            if number:
                break
            continue
        stat = os.fstat(stream.fileno())
        files.setdefault(stat.st_ino, _File(stream, stat.st_ino, stat.st_size, stream.read(_HEAD)))
    return list(reversed(files.values()))


def _first(files: list[_File]) -> Position:
    return files[0].at(0) if files else _NOWHERE


def _backwards(files: list[_File], end: Position) -> Iterator[tuple[Position, bytes]]:
    """Every line before a position, newest first, with the place where it begins."""
    begun = False
    for file in reversed(files):
        mine = not begun and file.holds(end)
        begun = begun or mine
        if not begun:
            continue
        at = end.offset if mine else file.size
        rest = b""
        while at > 0:
            begin = max(at - _BLOCK, 0)
            file.stream.seek(begin)
            pieces = (file.stream.read(at - begin) + rest).split(b"\n")
            rest, at = pieces[0], begin
            place = begin + len(b"\n".join(pieces))
            for piece in reversed(pieces[1:]):
                place -= len(piece) + 1
                if piece:
                    yield file.at(place + 1), piece
        if rest:
            yield file.at(0), rest


def _forwards(files: list[_File], start: Position) -> Iterator[tuple[Position, bytes]]:
    """Every whole line behind a position, oldest first, with the place where the next begins."""
    begun = False
    for file in files:
        mine = not begun and file.holds(start)
        begun = begun or mine
        if not begun:
            continue
        place = start.offset if mine else 0
        file.stream.seek(place)
        for line in file.stream:
            if not line.endswith(b"\n"):
                break
            place += len(line)
            yield file.at(place), line[:-1]


def _shown(line: bytes) -> str:
    return line[:LONGEST_LINE].decode(errors="replace")
