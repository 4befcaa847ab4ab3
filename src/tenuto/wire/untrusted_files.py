"""Read and write files in directories that a worker's own code can change. Standard library only.

A worker runs arbitrary code with the rights of its supervisor, so any name below its directory may be a pipe, a device,
a link, a directory, far too large, or gone. Every access here
  - opens without blocking, and regular files only;
  - follows no symbolic link below `root`, which is the supervisor's own;
  - reads a bounded number of bytes with `pread`, never through a mapping: a file that is truncated while it is mapped
    kills the process that touches it (SIGBUS);
  - returns what is wrong as a value (`Reading.problem`), so that one worker's files stop no loop over all workers.

The shim imports this module, so it avoids `dataclasses` and `typing`, which take milliseconds to load.
"""

from __future__ import annotations

import errno
import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

MAX_NAMES = 2000
"""Names of one directory that are looked at; a log or spool has a few dozen parts."""
MAX_OFFSET = 1 << 62
"""Offsets in a log or spool are smaller."""
PART_DIGITS = 20
"""Parts of logs and spools are named after the offset of their first byte, with so many digits."""
_KINDS = (
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISLNK, "a symbolic link"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)
_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NOCTTY
_ABSENT = (errno.ENOENT,)


class NotRegular(OSError):
    """The name belongs to something other than a regular file."""


class Reading:
    """The outcome of one read: bytes, or why there are none."""

    __slots__ = ("data", "problem")

    def __init__(self, data: bytes = b"", problem: str = "") -> None:
        self.data = data
        self.problem = problem
        """A sentence; empty if the file was read, or does not exist."""


class Listing:
    """The names in one directory, or why they are not known."""

    __slots__ = ("names", "problem")

    def __init__(self, names: Sequence[str] = (), problem: str = "") -> None:
        self.names = names
        self.problem = problem


class UntrustedDirectory:
    """A directory below `root`; neither it nor its parents up to `root` may be symbolic links."""

    __slots__ = ("_parts", "_root")

    def __init__(self, root: str | os.PathLike[str], *parts: str) -> None:
        self._root = os.fspath(root)
        self._parts = parts

    def below(self, *parts: str) -> UntrustedDirectory:
        """A directory in this one."""
        return UntrustedDirectory(self._root, *self._parts, *parts)

    def __str__(self) -> str:
        return "/".join((self._root, *self._parts))

    def read(self, name: str, limit: int, offset: int = 0) -> Reading:
        """Up to `limit` bytes from an offset on; a negative offset counts from the end, as far as the file has it."""
        try:
            file = self._open(name, os.O_RDONLY)
        except OSError as error:
            return Reading(problem=self._sentence(name, error))
        try:
            if offset < 0:
                offset = max(0, os.fstat(file).st_size + offset)
            return Reading(os.pread(file, limit, offset))
        except OSError as error:
            return Reading(problem=self._sentence(name, error))
        finally:
            os.close(file)

    def read_whole(self, name: str, limit: int) -> Reading:
        """The whole file; one with more than `limit` bytes is a problem."""
        reading = self.read(name, limit + 1)
        if len(reading.data) > limit:
            return Reading(problem=f"{self._path(name)} has more than {limit} bytes")
        return reading

    def append(self, name: str, data: bytes) -> int:
        """Add bytes to a file, which is made if need be; returns how many were written. Raises OSError."""
        file = self._open(name, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        try:
            return os.write(file, data)
        finally:
            os.close(file)

    def stamp(self, name: str) -> tuple[int, int]:
        """When a file was changed last, in nanoseconds, and its size in bytes; (0, 0) if there is none.

        What is no regular file has no size here, but a time, so that it is noticed.
        """
        try:
            found = self._lstat(name)
        except OSError:
            return (0, 0)
        return found.st_mtime_ns, found.st_size if stat.S_ISREG(found.st_mode) else 0

    def names(self, limit: int = MAX_NAMES) -> Listing:
        """The names in it, in no order. With more than `limit` of them the listing stops there and is a problem."""
        names: list[str] = []
        try:
            directory = self._enter()
        except OSError as error:
            return Listing(problem=self._sentence("", error))
        try:
            with os.scandir(directory) as entries:
                for entry in entries:
                    if len(names) == limit:
                        return Listing(names, f"{self} has more than {limit} files")
                    names.append(entry.name)
        except OSError as error:
            return Listing(names, self._sentence("", error))
        finally:
            os.close(directory)
        return Listing(names)

    def part_starts(self) -> tuple[list[int], str]:
        """The offsets at which the parts of a log or spool begin, ascending, and what is wrong with its directory."""
        listing = self.names()
        found = (part_start(name) for name in listing.names)
        return sorted(start for start in found if start is not None), listing.problem

    def unlink(self, name: str) -> None:
        """Delete a file, if it is there and can be deleted."""
        try:
            directory = self._enter()
        except OSError:
            return
        try:
            os.unlink(name, dir_fd=directory)
        except OSError:
            return  # gone already, or a directory: it goes with everything else when the worker is forgotten
        finally:
            os.close(directory)

    def _enter(self) -> int:
        directory = os.open(self._root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        for part in self._parts:
            try:
                following = os.open(part, _DIRECTORY, dir_fd=directory)
            finally:
                os.close(directory)
            directory = following
        return directory

    def _open(self, name: str, flags: int) -> int:
        """A descriptor of a regular file. Raises OSError."""
        directory = self._enter()
        try:
            try:  # looked at first: opening a pipe or a device may have effects
                _check_regular(os.stat(name, dir_fd=directory, follow_symlinks=False))
            except FileNotFoundError:
                if not flags & os.O_CREAT:
                    raise
            file = os.open(name, flags | _FILE, 0o600, dir_fd=directory)
        finally:
            os.close(directory)
        try:
            _check_regular(os.fstat(file))
        except OSError:
            os.close(file)
            raise
        return file

    def _lstat(self, name: str) -> os.stat_result:
        directory = self._enter()
        try:
            return os.stat(name, dir_fd=directory, follow_symlinks=False)
        finally:
            os.close(directory)

    def _path(self, name: str) -> str:
        return "/".join((self._root, *self._parts, name))

    def _sentence(self, name: str, error: OSError) -> str:
        """What is wrong; nothing if the file simply does not exist."""
        if error.errno in _ABSENT:
            return ""
        what = str(error) if isinstance(error, NotRegular) else f"cannot be read: {error.strerror}"
        return f"{self._path(name)} {what}"


def part_start(name: str) -> int | None:
    """The offset that a part of a log or spool is named after; None for any other name."""
    if len(name) != PART_DIGITS or not (name.isascii() and name.isdigit()):
        return None
    start = int(name)
    return start if start < MAX_OFFSET else None


def part_name(start: int) -> str:
    """The name of the part that begins at an offset."""
    return f"{start:0{PART_DIGITS}d}"


def _check_regular(found: os.stat_result) -> None:
    if stat.S_ISREG(found.st_mode):
        return
    kind = next((name for matches, name in _KINDS if matches(found.st_mode)), "something else")
    raise NotRegular(f"is {kind}, not a regular file")
