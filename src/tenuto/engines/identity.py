"""Which process is meant: a pid alone is reused by the system, a pid with its start time is not."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

_STARTTIME = 19
"""Where /proc/PID/stat tells the start, counted after the program's name (which may contain anything)."""
_STATE = 0


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """One process, for as long as the machine is up."""

    pid: int
    started: str
    """The boot and the clock tick of its start."""

    @classmethod
    def of(cls, pid: int) -> ProcessIdentity | None:
        """The process that has this pid now; None if there is none, or only its unclaimed exit code."""
        try:
            stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
        except (FileNotFoundError, ProcessLookupError):
            return None
        fields = stat.rpartition(")")[2].split()
        if fields[_STATE] in "ZX":
            return None
        return cls(pid, f"{_boot()}:{fields[_STARTTIME]}")

    def alive(self) -> bool:
        """Whether this very process still runs."""
        return ProcessIdentity.of(self.pid) == self


@cache
def _boot() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
