"""What a check finds: one line for people, with a number for programs where there is one."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Status(StrEnum):
    """How grave it is, the gravest first."""

    PROBLEM = "problem"
    """Something will not work until it is mended."""
    WARNING = "warning"
    """It works, but will hurt some day."""
    MISSING = "missing"
    """An optional part is not there, which is fine for whoever does not need it."""
    OK = "ok"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was looked at."""

    topic: str
    """What it belongs to: machine, parts, home, server …"""
    name: str
    status: Status = Status.OK
    told: str
    """What was found, in a few words."""
    remedy: str = ""
    """What to do about it: a command where one does."""
    value: float | None = None
    unit: str = ""
    """Of the value: bytes, seconds, bytes/s …"""


def worst_first(findings: Iterable[Finding]) -> list[Finding]:
    """Problems before everything else; otherwise in their order."""
    return sorted(findings, key=lambda finding: finding.status is not Status.PROBLEM)


def is_well(findings: Iterable[Finding]) -> bool:
    """Whether nothing must be mended."""
    return all(finding.status is not Status.PROBLEM for finding in findings)


_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")
_STEP = 1024


def size(count: float) -> str:
    """Bytes as people say them."""
    power = 0
    while count >= _STEP and power < len(_UNITS) - 1:
        count, power = count / _STEP, power + 1
    return f"{count:.{0 if power == 0 else 1}f} {_UNITS[power]}"
