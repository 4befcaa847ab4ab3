"""Checkpoints that are whole or not there: written beside, checked, flushed, and put into place by one rename.

    DIRECTORY/step-000000001200/   what the writer wrote, and manifest.json with the size and sha256 of every file
    DIRECTORY/.writing-…           one under way, or what a killed writer left; nobody reads it

What the files hold is the writer's affair. Reading them executes nothing: that is the reader's duty (`pytorch.saving`).
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

MANIFEST = "manifest.json"
_PREFIX, _WRITING, _GONE = "step-", ".writing-", ".gone-"

Writer = Callable[[Path], None]


@dataclass(frozen=True, slots=True)
class Damaged:
    """A checkpoint that was skipped."""

    path: Path
    reason: str


class Checkpoints:
    """The checkpoints in one directory; one worker writes, any may read."""

    def __init__(self, directory: str | Path, keep: int = 3) -> None:
        if keep < 1:
            raise ValueError(f"at least one checkpoint is kept, not {keep}")
        self.directory = Path(directory)
        self._keep = keep
        self.damaged: tuple[Damaged, ...] = ()
        """What the last search for the newest had to skip."""

    def write(self, step: int, writer: Writer) -> Path:
        """Write one now. An error leaves what was there before as it was."""
        self.directory.mkdir(parents=True, exist_ok=True)
        path = self._path(step)
        scratch = self.directory / f"{_WRITING}{os.uname().nodename}-{os.getpid()}-{uuid.uuid4().hex}"
        scratch.mkdir()
        try:
            writer(scratch)
            _seal(scratch, step)
            self._put_into_place(scratch, path)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
        self._tidy(step)
        return path

    def newest(self) -> Path | None:
        """The newest whole one; those that are damaged are skipped and named in `damaged`."""
        damaged: list[Damaged] = []
        for _, path in reversed(self._all()):
            reason = fault_of(path)
            if reason is None:
                self.damaged = tuple(damaged)
                return path
            damaged.append(Damaged(path, reason))
        self.damaged = tuple(damaged)
        return None

    def _put_into_place(self, scratch: Path, path: Path) -> None:
        if path.exists():
            if fault_of(path) is None:
                return  # the same step of the same run: it is there already
            self._remove(path)
        scratch.rename(path)
        _flush(self.directory)

    def _tidy(self, written: int) -> None:
        """Drop the oldest beyond those to keep, and what killed writers left.

        One of a later step than we have just written is damaged, or we would have gone on from it: it is not counted.
        """
        with contextlib.suppress(OSError):
            for _, path in [found for found in self._all() if found[0] <= written][: -self._keep]:
                self._remove(path)
            for scratch in self._leftovers():
                shutil.rmtree(scratch, ignore_errors=True)

    def _remove(self, path: Path) -> None:
        """First out of sight: half a checkpoint must not look like a damaged one."""
        gone = self.directory / f"{_GONE}{uuid.uuid4().hex}"
        path.rename(gone)
        shutil.rmtree(gone, ignore_errors=True)

    def _leftovers(self) -> Iterator[Path]:
        for path in self.directory.iterdir():
            if path.name.startswith(_GONE):
                yield path
            elif path.name.startswith(_WRITING):
                node, pid, _ = path.name.removeprefix(_WRITING).rsplit("-", 2)
                if node == os.uname().nodename and not _is_alive(int(pid)):
                    yield path

    def _all(self) -> list[tuple[int, Path]]:
        """By step, ascending."""
        try:
            names = [path.name.removeprefix(_PREFIX) for path in self.directory.glob(f"{_PREFIX}*")]
        except OSError:
            return []
        return sorted((int(name), self._path(int(name))) for name in names if name.isdigit())

    def _path(self, step: int) -> Path:
        return self.directory / f"{_PREFIX}{step:012d}"


def step_of(checkpoint: Path) -> int:
    """How many updates were applied to the model in it."""
    return int(checkpoint.name.removeprefix(_PREFIX))


def size_of(checkpoint: Path) -> int:
    """Its bytes on disk."""
    return sum(path.stat().st_size for path in _files(checkpoint))


def fault_of(checkpoint: Path) -> str | None:
    """What is the matter with a checkpoint; None if it is whole."""
    try:
        manifest = json.loads((checkpoint / MANIFEST).read_bytes())
        for name, told in manifest["files"].items():
            path = checkpoint / name
            if not path.is_file():
                return f"{name} is missing"
            if path.stat().st_size != told["bytes"]:
                return f"{name} has {path.stat().st_size} bytes, not {told['bytes']}"
            if _digest(path) != told["sha256"]:
                return f"{name} has changed since it was written"
    except FileNotFoundError:
        return f"{MANIFEST} is missing"
    except OSError as error:
        return f"it cannot be read: {error.strerror or error}"
    except (ValueError, KeyError, TypeError, AttributeError):
        return f"{MANIFEST} cannot be understood"
    return None


def _seal(directory: Path, step: int) -> None:
    """Flush every file and note what it holds."""
    files = {}
    for path in _files(directory):
        _flush(path)
        name = path.relative_to(directory).as_posix()
        files[name] = {"bytes": path.stat().st_size, "sha256": _digest(path)}
    manifest = directory / MANIFEST
    manifest.write_text(json.dumps({"step": step, "files": files}, indent=1), encoding="utf-8")
    _flush(manifest)
    for folder in {path.parent for path in _files(directory)}:
        _flush(folder)


def _files(directory: Path) -> list[Path]:
    return sorted(path for path in directory.rglob("*") if path.is_file())


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
