"""When the sampler is started and killed, and of what times there are no samples. Pure: who asks brings the clock."""

from __future__ import annotations

import math
from enum import Enum, auto

from tenuto.wire.sample import Gap

START_UP = 30.0
"""Seconds in which a sampler that was just started tells its first sample; drivers take their time."""
PATIENCE = 5.0
"""Seconds without a sample after which a sampler hangs, whatever its period."""
MISSED = 5
"""So many periods without a sample make it hang if that is longer; half of them without one are a gap."""
FIRST_PAUSE, LONGEST_PAUSE = 0.25, 60.0
"""Seconds before a sampler that has ended is started again, at first and at last."""
SETTLED = 60.0
"""Seconds that a sampler must have lived for the pauses to begin anew."""
_LOOK = 0.5
"""Seconds between two looks at a sampler that was killed: one that waits for a driver does not end at once."""

HUNG = "the sampler hung and was killed"
OFF = "sampling was switched off"
LATE = "the node slept or was too busy to be sampled"


class Act(Enum):
    """What is to be done now."""

    REST = auto()
    START = auto()
    KILL = auto()


class Minder:
    """One sampler at a time. Times are seconds of a clock that never goes back; `at` is a sample's own moment."""

    def __init__(self) -> None:
        self.every = 0.0
        """Seconds between two samples; 0 for none."""
        self._runs = self._killed = self._told = False
        self._started = self._heard = 0.0
        self._not_before = -math.inf
        self._pause = FIRST_PAUSE
        self._last: float | None = None
        self._last_every = 0.0
        self._why = ""
        """Why there may be no samples since the last one."""

    def due(self, now: float) -> tuple[Act, float]:
        """What is to be done, and when to ask again if nothing happens before."""
        if not self._runs:
            if self.every <= 0:
                return Act.REST, math.inf
            return (Act.START if now >= self._not_before else Act.REST), self._not_before
        if self._killed:
            return Act.REST, now + _LOOK
        if self.every <= 0:
            return Act.KILL, now
        patience = max(PATIENCE, MISSED * self.every) if self._told else START_UP + self.every
        late = self._heard + patience
        return (Act.KILL if now >= late else Act.REST), late

    def started(self, now: float) -> None:
        """There is a new sampler."""
        self._runs, self._killed, self._told = True, False, False
        self._started = self._heard = now

    def killed(self) -> None:
        """It was killed, as `due` wanted; it has ended only when it says so."""
        self._killed = True
        self._why = OFF if self.every <= 0 else HUNG

    def changed(self, every: float, now: float) -> None:
        """Another period is wanted from now on."""
        self.every = every
        self._heard = now  # the next sample may take as long as the new period
        self._pause, self._not_before = FIRST_PAUSE, -math.inf

    def ended(self, how: str, now: float) -> None:
        """The sampler is no more, or could not be started; `how` says it in a sentence."""
        self._why = self._why or how
        self._pause = FIRST_PAUSE if now - self._started >= SETTLED else self._pause
        self._not_before = now + self._pause
        self._pause = min(LONGEST_PAUSE, 2 * self._pause)
        self._runs = self._killed = False

    def sampled(self, at: float, now: float) -> Gap | None:
        """A sample has come; returns the time before it of which there are none."""
        self._heard, self._told = now, True
        last, why = self._last, self._why
        if not why and last is not None and at - last > MISSED / 2 * max(self.every, self._last_every) + 1:
            why = LATE
        self._last, self._last_every, self._why = at, self.every, ""
        if not why or last is None or at <= last:
            return None  # what was before the first sample is for the server to know
        return Gap(since=last, until=at, why=why)
