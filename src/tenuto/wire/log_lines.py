"""What a terminal makes of a log: lines, with progress bars that rewrite themselves shown as they ended. Pure."""

from __future__ import annotations

import re

_ERASED = re.compile(r"\x1b\[[012]?K")


def rewritten(line: str) -> str:
    r"""A line as a terminal shows it: after `\r` the following text is written over what stands there."""
    pieces: list[str] = []
    covered = 0
    # From the end, so that each part is looked at once: a line may be rewritten thousands of times.
    for part in reversed(line.split("\r")):
        last = _ERASED.split(part)[-1]
        pieces.append(last[covered:])
        covered = max(covered, len(last))
        if last != part:
            break
    return "".join(pieces)


class Lines:
    """Puts lines together from pieces; holds little, however long a progress bar is rewritten."""

    def __init__(self) -> None:
        self._rest = ""

    def feed(self, text: str) -> list[str]:
        """The lines that are complete now."""
        *whole, rest = (self._rest + text).replace("\r\n", "\n").split("\n")
        before, sign, after = rest.rpartition("\r")
        self._rest = f"{rewritten(before)}{sign}{after}"
        return [rewritten(line) for line in whole]

    @property
    def unfinished(self) -> str:
        """What was written since the last line ended."""
        return rewritten(self._rest)

    def finish(self) -> list[str]:
        """The last line, if it was not ended."""
        rest, self._rest = self.unfinished, ""
        return [rest] if rest else []
