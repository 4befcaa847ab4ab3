"""The log of a supervisor: entries on standard error in which no text of a worker or server commands a terminal."""

from __future__ import annotations

import logging
import sys

from tenuto.terminal_text import safe_text


class SafeFormatter(logging.Formatter):
    """Formats entries as text with control characters escaped, except the newlines of tracebacks."""

    def format(self, record: logging.LogRecord) -> str:
        """The entry as one line, followed by the lines of its traceback if it has one."""
        return safe_text(super().format(record))


def log_to_stderr(level: int) -> None:
    """Write entries of this level and above to standard error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(SafeFormatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    logging.basicConfig(level=level, handlers=[handler])
