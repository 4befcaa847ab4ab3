"""The files of one worker's log: parts named by the offset of their first byte.

What a file holds is known by its name and size alone, so there is nothing that a crash could leave out of step:
half an append is a shorter file, and the supervisor sends the rest.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tenuto.errors import InputInvalid
from tenuto.wire.worker import WorkerId

SUFFIX = ".part"
_PART_NAME = re.compile(r"[0-9]{20}" + re.escape(SUFFIX))
MAX_NUMBER = 10**9
"""Generations and ranks are below it."""
_NUMBER = r"(?:0|[1-9][0-9]{0,8})"
_WORKER_NAME = re.compile(rf"{_NUMBER}\.[\w-]+\.{_NUMBER}(?:\.[\w-]+)?")


@dataclass(frozen=True, slots=True, order=True)
class Part:
    """A stretch of a log, in a file."""

    first: int
    end: int
    """The offset behind its last byte."""


def part_files(directory: Path) -> list[tuple[int, Path]]:
    """The files of parts with the number in their names, in its order; none if there is no such directory.

    Whatever else lies there is passed over: it may be a directory, a pipe that blocks its reader, or have any name.
    """
    try:
        with os.scandir(directory) as entries:
            found = [
                (int(entry.name.removesuffix(SUFFIX)), directory / entry.name)
                for entry in entries
                if _PART_NAME.fullmatch(entry.name) and entry.is_file(follow_symlinks=False)
            ]
    except (FileNotFoundError, NotADirectoryError):
        return []
    return sorted(found)


def parts_of(directory: Path) -> list[Part]:
    """The parts in the order of their offsets; none if there is no directory."""
    found = [_part(first, path) for first, path in part_files(directory)]
    return sorted(part for part in found if part is not None)


def _part(first: int, path: Path) -> Part | None:
    try:
        return Part(first, first + path.stat().st_size)
    except FileNotFoundError:  # rotated away between two looks
        return None


def check_numbers(worker: WorkerId) -> None:
    """Raise InputInvalid unless generation and rank can be part of a name that `worker_directories` finds again."""
    if not (0 <= worker.generation < MAX_NUMBER and 0 <= worker.rank < MAX_NUMBER):
        raise InputInvalid(
            f"{str(worker)[:120]} is no worker",
            remedy=f"Generations and ranks are from 0 to {MAX_NUMBER - 1}",
            field="worker",
        )


def worker_directories(directory: Path) -> list[tuple[str, ...]]:
    """The parts of the names `generation.role.rank[.teller]` of the directories of a job; others are passed over."""
    try:
        with os.scandir(directory) as entries:
            names = [entry.name for entry in entries if entry.is_dir(follow_symlinks=False)]
    except (FileNotFoundError, NotADirectoryError):
        return []
    return [tuple(name.split(".")) for name in names if _WORKER_NAME.fullmatch(name)]


def path_of(directory: Path, first: int) -> Path:
    """The file of the part that begins there."""
    return directory / f"{first:020d}{SUFFIX}"


def drop_parts(directory: Path, wanted: int, end: int | None = None) -> int:
    """Remove the oldest parts until `wanted` bytes have gone; returns how many bytes have.

    The last part stays, since what comes next is appended to it. With `end`, the number behind the last byte or
    record, it may go as well: an empty part of that name takes its place, so that a reader still sees that something
    was there, and that it is not stored a second time.
    """
    parts = parts_of(directory)
    if end is not None and parts and parts[-1].end > parts[-1].first and wanted > 0:
        append_to(path_of(directory, end), b"")
    elif parts:
        parts.pop()
    gone = 0
    for part in parts:
        if gone >= wanted:
            break
        path_of(directory, part.first).unlink(missing_ok=True)
        gone += part.end - part.first
    return gone


def append_to(path: Path, data: bytes) -> None:
    """Add bytes to a part; made if there is none. What an error or a crash leaves is a beginning of `data`.

    Raises OSError if there is something else than a file; a pipe without a reader does not block.
    """
    flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    handle = os.open(path, flags, 0o600)
    try:
        left = memoryview(data)
        while left:
            left = left[os.write(handle, left) :]
    finally:
        os.close(handle)


def read_from(path: Path, position: int, limit: int) -> bytes:
    """At most `limit` bytes of a file; fewer at its end."""
    handle = os.open(path, os.O_RDONLY)
    try:
        pieces = []
        while limit > 0 and (piece := os.pread(handle, limit, position)):
            pieces.append(piece)
            position += len(piece)
            limit -= len(piece)
        return b"".join(pieces)
    finally:
        os.close(handle)


def without_gap(parts: list[Part]) -> list[Part]:
    """The newest parts, as far back as they follow upon each other."""
    start = len(parts) - 1
    while start > 0 and parts[start - 1].end == parts[start].first:
        start -= 1
    return parts[max(start, 0) :]


def blocks_backwards(directory: Path, parts: list[Part], block: int) -> Iterator[bytes]:
    """The bytes of these parts in blocks, the last one first."""
    for part in reversed(parts):
        position = part.end
        while position > part.first:
            size = min(block, position - part.first)
            position -= size
            yield read_from(path_of(directory, part.first), position - part.first, size)
