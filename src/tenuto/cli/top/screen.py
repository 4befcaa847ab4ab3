"""Lines on a terminal: only those that have changed are sent, so that a slow connection is enough."""

from __future__ import annotations

from collections.abc import Sequence
from io import StringIO

from rich.text import Text

from tenuto.cli.console import Console
from tenuto.cli.top.keys import Terminal


class Screen:
    """What the terminal shows now."""

    def __init__(self, terminal: Terminal) -> None:
        self._terminal = terminal
        self._shown: list[str] = []
        self._width = 0
        self._console = Console(
            file=StringIO(), force_terminal=True, highlight=False, legacy_windows=False, soft_wrap=False
        )

    def draw(self, lines: Sequence[Text], width: int) -> None:
        """Show these lines and nothing else."""
        if width != self._width or len(lines) != len(self._shown):
            self.forget()
        self._width = width
        wanted = [self._written(line) for line in lines]
        known = self._shown or ["\0"] * len(wanted)  # nothing is like that
        changed = [
            f"\x1b[{row};1H\x1b[2K{new}"
            for row, (old, new) in enumerate(zip(known, wanted, strict=True), 1)
            if new != old
        ]
        if changed:
            self._terminal.write(("" if self._shown else "\x1b[2J") + "".join(changed))
        self._shown = wanted

    def forget(self) -> None:
        """Somebody else has written there, or its size has changed: draw everything anew."""
        self._shown = []

    def _written(self, line: Text) -> str:
        self._console.width = self._width
        with self._console.capture() as written:
            self._console.print(line, end="", no_wrap=True, overflow="crop", crop=True)
        return written.get().rstrip("\n")
