"""How long each part of a change of generation took, as the first member tells it after the first step."""

from __future__ import annotations

import os
import statistics
import time
from collections import deque
from pathlib import Path
from typing import Any

_STEPS = 16


class Phases:
    """Marks of one worker's time."""

    def __init__(self) -> None:
        self._usual: deque[float] = deque(maxlen=_STEPS)
        self._stepped_at: float | None = None
        self._asked_at: float | None = None
        self._marks: dict[str, float] = {}
        self._told: dict[str, Any] | None = None

    def asked(self) -> None:
        """Something newer is known."""
        if self._asked_at is None:
            self._asked_at = time.perf_counter()

    def left(self) -> None:
        """The group was left, or a newcomer was told whom to join. Of several in a row the first counts."""
        if "left" not in self._marks:
            now = time.perf_counter()
            self._marks = {"left": now, "asked": now if self._asked_at is None else self._asked_at}
            self._asked_at = None

    def mark(self, name: str) -> None:
        """It is so now: `formed`, `moved`."""
        self._marks[name] = time.perf_counter()

    def joined(self, **facts: Any) -> None:
        """The new generation trains; its first step will close the account."""
        self.mark("joined")
        self._told = facts

    def stepped(self) -> dict[str, Any] | None:
        """A step was applied; after the first of a generation, all that is known about the change."""
        now = time.perf_counter()
        before, self._stepped_at = self._stepped_at, now
        if self._told is None:
            if before is not None:
                self._usual.append(now - before)
            return None
        told = {**self._told, **self._account(before, now)}
        self._told = None
        self._marks = {}
        return told

    def _account(self, before: float | None, now: float) -> dict[str, float]:
        marks = self._marks
        left = marks.get("left", now)
        formed = marks.get("formed", left)
        moved = marks.get("moved", formed)
        joined = marks.get("joined", moved)
        usual = statistics.median(self._usual) if self._usual else 0.0
        pause = 0.0 if before is None else max(0.0, now - before - usual)
        return {
            "agree_ms": _ms(left - marks.get("asked", left)),
            "form_ms": _ms(formed - left + joined - moved),
            "transfer_ms": _ms(moved - formed),
            "first_step_ms": _ms(now - joined),
            "pause_ms": _ms(pause),
        }


def _ms(seconds: float) -> float:
    return round(1000 * seconds, 3)


def seconds_since_birth() -> float:
    """How long this process has lived; 0 where the system does not tell."""
    try:
        after_the_name = Path("/proc/self/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        born = int(after_the_name[19]) / os.sysconf("SC_CLK_TCK")
        return max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - born)
    except (OSError, ValueError, IndexError):
        return 0.0
