"""Whether directories can be read and written, how much room is left, and on what kind of file system they lie."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

from tenuto.atomic_file import temporary_name
from tenuto.doctor.finding import Finding, Status, size
from tenuto.doctor.patience import NoAnswer, within

_PATIENCE = 5.0
"""Seconds that a directory may take to answer; one on a file server that is gone never does."""
_PIECE = b"tenuto" * 10_000
_FULL, _NEARLY_FULL = 256 << 20, 2 << 30
"""Bytes of room below which nothing works soon, and below which one should know."""
_FEW_FILES = 0.01
"""Share of the files that may still be made."""
SHARED = ("nfs", "nfs4", "cifs", "smb3", "lustre", "ceph", "glusterfs", "fuse.sshfs", "beegfs", "gpfs", "9p")
"""File systems that several machines see."""


def find_directory(topic: str, path: Path) -> Iterator[Finding]:
    """Everything about one directory."""
    try:
        yield from within(_PATIENCE, lambda: list(_look(topic, path)))
    except NoAnswer:
        yield Finding(
            topic=topic,
            name=str(path),
            status=Status.PROBLEM,
            told=f"does not answer within {_PATIENCE:g} s",
            remedy="Is its file server there? See mount",
        )


def _look(topic: str, path: Path) -> Iterator[Finding]:
    if not path.is_dir():
        yield Finding(
            topic=topic,
            name=str(path),
            status=Status.PROBLEM,
            told="is no directory" if path.exists() else "is not there",
            remedy="Make or mount it, or name another",
        )
        return
    use = _use(topic, path)
    yield use
    if use.status is Status.OK:
        yield _room(topic, path)


def _use(topic: str, path: Path) -> Finding:
    """Read the directory and write a file in it, which is gone afterwards."""
    kind = file_system_of(path)
    try:
        next(path.iterdir(), None)
    except OSError as error:
        return _unusable(topic, path, f"cannot be read ({error.strerror})", Status.PROBLEM)
    begun = time.perf_counter()
    try:
        with tempfile.NamedTemporaryFile(dir=path, prefix=temporary_name("doctor", ".")) as file:
            file.write(_PIECE)
            file.flush()
            os.fsync(file.fileno())
            same = Path(file.name).read_bytes() == _PIECE
    except OSError as error:
        return _unusable(topic, path, f"can be read, not written ({error.strerror})", Status.WARNING)
    if not same:
        return _unusable(topic, path, "gives back something else than was written", Status.PROBLEM)
    taken = time.perf_counter() - begun
    told = f"can be read and written, on {kind} ({1000 * taken:.0f} ms to the disk)"
    return Finding(topic=topic, name=str(path), told=told, value=taken, unit="seconds")


def _unusable(topic: str, path: Path, told: str, status: Status) -> Finding:
    return Finding(
        topic=topic,
        name=str(path),
        status=status,
        told=told,
        remedy="Give it to the user who runs tenuto, or mount it for writing",
    )


def _room(topic: str, path: Path) -> Finding:
    usage, inodes = shutil.disk_usage(path), os.statvfs(path)
    few = (
        inodes.f_files > 0 and inodes.f_favail < _FEW_FILES * inodes.f_files
    )  # not every file system counts them
    status = Status.OK
    if usage.free < _NEARLY_FULL or few:
        status = Status.PROBLEM if usage.free < _FULL else Status.WARNING
    files = f", but only {inodes.f_favail} more files" if few else ""
    return Finding(
        topic=topic,
        name=f"room in {path}",
        status=status,
        told=f"{size(usage.free)} of {size(usage.total)} free{files}",
        remedy="" if status is Status.OK else "Make room: tenuto delete takes ended jobs with their logs",
        value=usage.free,
        unit="bytes",
    )


def file_system_of(path: Path) -> str:
    """The kind of file system that a path lies on."""
    real = Path(os.path.realpath(path))
    kind, longest = "an unknown file system", -1
    for mount in psutil.disk_partitions(all=True):
        if real.is_relative_to(mount.mountpoint) and len(mount.mountpoint) >= longest:
            kind, longest = mount.fstype, len(mount.mountpoint)
    return kind
