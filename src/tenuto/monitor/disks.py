"""File systems on disks: how full they are, and what flows."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass

from tenuto.monitor.proc import Places, read
from tenuto.monitor.rates import Rates
from tenuto.wire.sample import DiskSample

_SECTOR = 512
"""Bytes, whatever the disk's own sectors are."""
_MOST = 32
_LOOK_FOR_NEW = 30.0
"""Seconds between two looks at what is mounted."""


@dataclass(frozen=True, slots=True)
class Mount:
    """A file system on a disk."""

    path: str
    source: str
    number: str
    """The disk's, `major:minor`."""


class Disks:
    """The file systems on disks of this machine.

    Those of the network are left out: asking one whose server is away would never end.
    """

    def __init__(self, places: Places) -> None:
        self._places = places
        self._rates = Rates()
        self._mounts: list[Mount] = []
        self._looked: float | None = None

    def look(self, now: float) -> tuple[DiskSample, ...]:
        """`now` is of a clock that nobody sets."""
        if self._looked is None or now - self._looked >= _LOOK_FOR_NEW:
            self._looked = now
            self._mounts = mounts_in(read(f"{self._places.proc}/self/mountinfo"))
        if not self._mounts:
            return ()
        wanted = {mount.number for mount in self._mounts}
        flows = self._rates.since_last(now, _bytes_in(read(f"{self._places.proc}/diskstats"), wanted))
        return tuple(_sample(mount, *flows.get(mount.number, (None, None))) for mount in self._mounts)


def _sample(mount: Mount, bytes_read: float | None, written: float | None) -> DiskSample:
    try:
        found = os.statvfs(mount.path)
    except OSError:  # it was unmounted a moment ago
        return DiskSample(path=mount.path, read=bytes_read, written=written)
    total = found.f_blocks * found.f_frsize
    used = total - found.f_bfree * found.f_frsize
    return DiskSample(path=mount.path, used=used, total=total, read=bytes_read, written=written)


def mounts_in(mountinfo: bytes) -> list[Mount]:
    """Each disk once, where it is mounted nearest to the root, and the root whatever it is on."""
    nearest: dict[str, Mount] = {}
    for line in mountinfo.splitlines():
        mount = _mount_in(os.fsdecode(line))
        if mount is None or not os.path.isdir(mount.path):  # containers have single files mounted
            continue
        known = nearest.get(mount.source)
        if known is None or len(mount.path) < len(known.path):
            nearest[mount.source] = mount
    return sorted(nearest.values(), key=lambda mount: mount.path)[:_MOST]


def _mount_in(line: str) -> Mount | None:
    before, _, after = line.partition(" - ")
    fields, kind = before.split(" "), after.split(" ")
    if len(fields) < 5 or len(kind) < 2:
        return None
    path, source = _plain(fields[4]), _plain(kind[1])
    on_disk = (source.startswith("/dev/") and not source.startswith("/dev/loop")) or kind[0] == "zfs"
    if not on_disk and path != "/":
        return None
    return Mount(path, source, _number_of(source) or fields[2])


def _plain(text: str) -> str:
    """Without the kernel's way to write blanks and the like."""
    for written, meant in (("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")):
        text = text.replace(written, meant)
    return text


def _number_of(source: str) -> str | None:
    """The disk's number, which some file systems (Btrfs) do not tell where they are mounted."""
    try:
        found = os.stat(source) if source.startswith("/dev/") else None
    except OSError:
        return None
    if found is None or not stat.S_ISBLK(found.st_mode):
        return None
    return f"{os.major(found.st_rdev)}:{os.minor(found.st_rdev)}"


def _bytes_in(diskstats: bytes, wanted: set[str]) -> dict[str, tuple[int, ...]]:
    """Bytes read and written since the machine was started, by the disk's number."""
    found: dict[str, tuple[int, ...]] = {}
    for line in diskstats.splitlines():
        words = line.split(maxsplit=10)
        if len(words) > 9 and (number := f"{words[0].decode()}:{words[1].decode()}") in wanted:
            found[number] = (int(words[5]) * _SECTOR, int(words[9]) * _SECTOR)
    return found
