"""Keep the failures of one worker from stopping the work for others: counted, logged once, retried later."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass, field

log = logging.getLogger(__name__)
FIRST_PAUSE_SECONDS = 0.2
LONGEST_PAUSE_SECONDS = 15.0
MOST_LOG_LINES = 10
"""Different failures of one worker that are logged; a hostile one could make up any number of them."""


@dataclass(slots=True)
class Failures:
    """The failures of one worker, or of one part of the work for it."""

    name: str
    """For the log."""
    problem: str = ""
    """What is wrong now; empty if nothing is."""
    count: int = 0
    """Of failures in a row."""
    not_before: float = 0.0
    """The time of the monotonic clock before which nothing is tried again."""
    _logged: set[str] = field(default_factory=set)

    def is_due(self, now: float) -> bool:
        """Whether it may be tried now."""
        return now >= self.not_before

    def failed(self, problem: str) -> None:
        """It did not work: wait, longer than the last time."""
        self.count += 1
        pause = min(LONGEST_PAUSE_SECONDS, FIRST_PAUSE_SECONDS * 2.0 ** min(self.count - 1, 20))
        self.not_before = time.monotonic() + pause
        self.note(problem)

    def note(self, problem: str) -> None:
        """Remember what is wrong, without waiting; logged once for each problem."""
        self.problem = problem
        if problem and problem not in self._logged and len(self._logged) < MOST_LOG_LINES:
            self._logged.add(problem)
            log.warning("%s: %s; other workers are not affected", self.name, problem)

    def succeeded(self) -> None:
        """It worked: the next failure is the first one again."""
        self.count, self.not_before, self.problem = 0, 0.0, ""
