r"""What workers print, as a page shows it: the last lines, in blocks, with `\r` rewriting the line. Pure.

A block is a fixed stretch of lines, so that what comes changes the last one only and little is sent.
"""

from __future__ import annotations

import re
from collections import deque
from html import escape

from tenuto.wire.log_lines import Lines

MOST_LINES = 1000
BLOCK = 50
"""Lines of a block."""
LONGEST = 2000
"""Characters of a line that are shown."""
HELD = 1 << 16
"""Characters of a line that is not ended; one that is longer goes on as another line."""
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")


class Printed:
    """The last lines of some workers in the order in which they came."""

    def __init__(self, *, most: int = MOST_LINES) -> None:
        self._most = most
        self._lines: deque[tuple[str, str]] = deque()
        self._open: dict[str, Lines] = {}
        self._first = 0
        """The number of the first line that is kept."""
        self.named = False
        """Whether lines are told with the name of their worker."""

    def add(self, worker: str, text: str) -> None:
        """Take what a worker printed."""
        lines = self._open.setdefault(worker, Lines())
        self._keep(worker, lines.feed(text))
        if len(lines.unfinished) > HELD:
            self._keep(worker, lines.finish())

    def end(self, worker: str) -> None:
        """It prints nothing more."""
        if worker in self._open:
            self._keep(worker, self._open.pop(worker).finish())

    def leave_out(self, worker: str, why: str) -> None:
        """Say in its place that something is missing; what follows begins a new line."""
        self.end(worker)
        self._keep(worker, [f"… {why} …"])

    def _keep(self, worker: str, lines: list[str]) -> None:
        self._lines.extend((worker, shown(line)) for line in lines)
        while len(self._lines) > self._most:
            self._lines.popleft()
            self._first += 1

    def __len__(self) -> int:
        return len(self._lines)

    def blocks(self, search: str = "", since: int = 0) -> dict[int, str]:
        """HTML of every block from number `since` on; with `search` only the lines in which that stands."""
        made: dict[int, list[str]] = {}
        for place, (worker, line) in enumerate(self._lines):
            block = (self._first + place) // BLOCK
            if block < since:
                continue
            lines = made.setdefault(block, [])
            if search.casefold() in line.casefold():
                lines.append(self._html(worker, line, search))
        return {block: "\n".join(lines) for block, lines in made.items()}

    @property
    def newest(self) -> int:
        """The number of the last block; earlier ones do not change any more."""
        return max(self._first + len(self._lines) - 1, 0) // BLOCK

    @property
    def oldest(self) -> int:
        """The number of the first block that is kept."""
        return self._first // BLOCK

    def unfinished(self, search: str = "") -> str:
        """HTML of the lines that are still being written, such as progress bars."""
        found = ((worker, shown(lines.unfinished)) for worker, lines in self._open.items())
        return "\n".join(
            self._html(worker, line, search)
            for worker, line in found
            if line and search.casefold() in line.casefold()
        )

    def _html(self, worker: str, line: str, search: str) -> str:
        who = f'<span class="t-who">{escape(worker)}</span> ' if self.named else ""
        return who + highlighted(line, search)


def shown(line: str) -> str:
    """A line without what only terminals understand, and not longer than anybody reads."""
    plain = _UNSEEN.sub("", _ESCAPES.sub("", line))
    return plain if len(plain) <= LONGEST else f"{plain[:LONGEST]} … {len(plain) - LONGEST} more characters"


def highlighted(text: str, search: str) -> str:
    """HTML of a line in which what was searched for is marked."""
    if not search:
        return escape(text)
    pieces = re.split(f"({re.escape(search)})", text, flags=re.IGNORECASE)
    return "".join(f"<mark>{escape(one)}</mark>" if at % 2 else escape(one) for at, one in enumerate(pieces))
