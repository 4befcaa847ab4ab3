"""What the log is told of the database: each trouble once, and its end."""

from __future__ import annotations

import logging
import re
import threading

from tenuto.monitor.influx.address import Address
from tenuto.monitor.influx.answers import Answer, Verdict

log = logging.getLogger("tenuto.influx")

_REASONS = 20
"""So many different reasons to refuse lines are told."""
_OF_A_LINE = re.compile(r"'.*'|\d+", re.DOTALL)
"""What differs between two answers that say the same: the line they quote, and numbers."""


class Remarks:
    """Safe to use from any thread."""

    def __init__(self, address: Address) -> None:
        self._address = address
        self._lock = threading.Lock()
        self._answer = Answer.TAKEN
        self.trouble = ""
        """Why the database takes nothing, in a sentence; empty if it does."""
        self._dropped = 0
        """Lines that had gone when everything was sent last."""
        self._is_full = False
        self._reasons: set[str] = set()

    def ill(self, verdict: Verdict) -> None:
        """The database takes nothing."""
        remedy = self._address.remedy(verdict)
        with self._lock:
            new = verdict.answer is not self._answer
            self._answer, self.trouble = verdict.answer, f"{self._address.shown} takes nothing: {verdict.why}"
        if new:
            kept = "numbers are kept meanwhile, and sent when it does"
            log.warning("%s; %s%s", self.trouble, f"{remedy}; " if remedy else "", kept)

    def well(self) -> None:
        """The database takes lines."""
        with self._lock:
            was_ill = bool(self.trouble)
            self._answer, self.trouble = Answer.TAKEN, ""
        if was_ill:
            log.info("%s takes numbers again", self._address.shown)

    def full(self, dropped: int) -> None:
        """There may be no more room; `dropped`: how many lines have gone for want of it."""
        with self._lock:
            new = dropped > self._dropped and not self._is_full
            self._is_full = self._is_full or new
        if new:
            log.warning("the buffer for %s is full, so the oldest lines are dropped", self._address.shown)

    def empty(self, dropped: int) -> None:
        """Everything was sent that there was."""
        with self._lock:
            lost, self._dropped, self._is_full = dropped - self._dropped, dropped, False
        if lost:
            log.warning("%s lacks %d lines for which there was no room", self._address.shown, lost)

    def refused(self, why: str) -> None:
        """A line was refused for good."""
        reason = _OF_A_LINE.sub("", why)
        with self._lock:
            new = reason not in self._reasons and len(self._reasons) < _REASONS
            self._reasons.update({reason} if new else ())
        if new:
            log.warning("%s refuses some lines, which are dropped: %s", self._address.shown, why)

    def left(self, lines: int) -> None:
        """The end."""
        if lines:
            log.warning("%d lines did not reach %s; the history has them", lines, self._address.shown)
