"""Trace files as users bring them: one file, or all CSV files of a `.tar.gz`, `.tar` or `.zip` archive.

Members are read, never extracted: no path inside an archive can lead anywhere.
"""

from __future__ import annotations

import lzma
import tarfile
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from tenuto.errors import InputInvalid, Place

if TYPE_CHECKING:
    from collections.abc import Iterator

# What damaged, encrypted and exotic archives raise.
_UNREADABLE = (
    OSError,
    EOFError,
    RuntimeError,
    lzma.LZMAError,
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
)

# The largest public trace has 1.4 MB; what unpacks to more than this is no trace.
MOST_BYTES = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class TraceFile:
    """The content of one file, wherever it came from."""

    name: str
    """The file's name without directory and suffix."""
    suffix: str
    label: str
    """How messages name the file."""
    content: bytes
    archived: bool


def files_in(path: Path) -> list[TraceFile]:
    """Read a file, or every CSV file of an archive."""
    try:
        if tarfile.is_tarfile(path):
            found = list(_tar_members(path))
        elif zipfile.is_zipfile(path):
            found = list(_zip_members(path))
        else:
            return [TraceFile(path.stem, path.suffix, str(path), path.read_bytes(), archived=False)]
    except FileNotFoundError:
        raise InputInvalid(
            "there is no such file", remedy="Check the path for a typing mistake", place=Place(str(path))
        ) from None
    except _UNREADABLE as error:
        raise InputInvalid(
            f"the file cannot be read ({error})",
            remedy="Check that it is whole, for instance by downloading it again",
            place=Place(str(path)),
        ) from None
    if not found:
        raise InputInvalid(
            "the archive holds no CSV file", remedy="Give an archive of traces", place=Place(str(path))
        )
    return found


def _tar_members(path: Path) -> Iterator[TraceFile]:
    with tarfile.open(path) as archive:
        for member in archive:
            if not member.isfile() or not _is_trace(member.name):
                continue
            _check_size(path, member.name, member.size)
            stream = archive.extractfile(member)
            if stream is not None:
                yield _member(path, member.name, stream.read())


def _zip_members(path: Path) -> Iterator[TraceFile]:
    with zipfile.ZipFile(path) as archive:
        for member in archive.infolist():
            if member.is_dir() or not _is_trace(member.filename):
                continue
            _check_size(path, member.filename, member.file_size)
            yield _member(path, member.filename, archive.read(member))


def _is_trace(member: str) -> bool:
    name = PurePosixPath(member).name
    # macOS puts a hidden companion "._name.csv" beside each file.
    return name.lower().endswith(".csv") and not name.startswith(".")


def _member(path: Path, member: str, content: bytes) -> TraceFile:
    inside = PurePosixPath(member)
    return TraceFile(inside.stem, ".csv", f"{path}:{member}", content, archived=True)


def _check_size(path: Path, member: str, size: int) -> None:
    if size > MOST_BYTES:
        raise InputInvalid(
            f"{member} unpacks to {size:,} bytes, more than any trace",
            remedy="Leave it out of the archive",
            place=Place(str(path)),
        )
