"""How one worker gets on: what it shows, how long its steps take, and what its process does meanwhile."""

from __future__ import annotations

import math
import os
from pathlib import Path

from tenuto.engines.supervisor.crews.seats import Activity
from tenuto.engines.supervisor.crews.trainer import find_trainer
from tenuto.wire.status import Status, status_in
from tenuto.wire.untrusted_files import UntrustedDirectory

STUCK = 1.0
"""Seconds in one stage after which its process is looked at, and others are told exactly where it stands."""
_LEAST = 0.5
"""Seconds over which a pace or the use of a core is measured."""
_BUSY = 0.1
"""The share of a core that makes a process busy: on a machine with too much to do it may not get more."""
_MOST_COUNT = 1 << 53
"""Generations, steps and samples are fewer, and every JSON reader can hold them."""
_MOST_PORT = 1 << 16
_TICKS = os.sysconf("SC_CLK_TCK")


class Watch:
    """Looks at one worker, cheaply, as often as one likes."""

    def __init__(self, link: UntrustedDirectory, name: str) -> None:
        self.problem = ""
        """What is wrong with the page; empty if it can be read."""
        self.status: Status | None = None
        self.step_seconds: float | None = None
        self.activity = Activity.IDLE
        self._link = link
        self._name = name
        self._page = Path(str(link), name)
        self._mark: tuple[int, float] | None = None
        self._used: tuple[float, float] | None = None
        self._trainer: int | None = None

    def look(self, pid: int | None, now: float) -> None:
        """Read what it shows; and what its process does, if it has been at one thing for long."""
        try:
            status = status_in(self._link, self._name)
        except (OSError, ValueError) as error:
            self.problem = f"the status page cannot be used: {error}"
            return
        if status is not None and not _is_possible(status):
            self.problem = "the status page cannot be used: its numbers are out of range"
            return
        self.problem = ""
        self.status = status or self.status
        if self.status is None:
            return
        self._measure_pace(self.status, now)
        if pid is None or now - self.status.since < STUCK:
            self._used, self.activity, self._trainer = None, Activity.IDLE, None
        else:
            self._trainer = self._trainer or find_trainer(pid, self._page)
            self._measure_activity(self._trainer, now)

    def _measure_pace(self, status: Status, now: float) -> None:
        if self._mark is None or status.step < self._mark[0]:
            self._mark = (status.step, now)
            return
        steps, seconds = status.step - self._mark[0], now - self._mark[1]
        if steps and seconds >= _LEAST:
            pace, before = seconds / steps, self.step_seconds
            # One long pause must not make a slow worker of it.
            self.step_seconds = pace if before is None else 0.7 * before + 0.3 * min(pace, 2 * before)
            self._mark = (status.step, now)

    def _measure_activity(self, pid: int, now: float) -> None:
        try:
            fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
        except OSError:
            return
        if fields[0] in (b"T", b"t"):
            self._used, self.activity = None, Activity.HALTED
            return
        used = (int(fields[11]) + int(fields[12])) / _TICKS
        before, self._used = self._used, self._used or (used, now)
        if fields[0] in (b"R", b"D"):  # it would work if it were let
            self.activity = Activity.BUSY
        elif before is None:
            self.activity = Activity.IDLE
        elif now - before[1] >= _LEAST:
            busy = (used - before[0]) / (now - before[1]) >= _BUSY
            self.activity = Activity.BUSY if busy else Activity.IDLE
            self._used = (used, now)


def _is_possible(status: Status) -> bool:
    """Whether a worker of ours could have shown it; other values would be sent on, and refused or misread there."""
    counts = (status.generation, status.step, status.samples)
    return (
        all(0 <= count < _MOST_COUNT for count in counts)
        and 0 <= status.port < _MOST_PORT
        and math.isfinite(status.since)
    )
