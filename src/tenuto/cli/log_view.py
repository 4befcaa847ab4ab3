"""How logs appear: one worker plainly, several with their names before each line."""

from __future__ import annotations

from typing import TextIO

from tenuto.terminal_text import safe_coloured_text
from tenuto.wire.log_lines import Lines


class LogView:
    """Writes what workers printed, each line once and whole."""

    def __init__(self, out: TextIO, *, raw: bool = False) -> None:
        self._out = out
        self._raw = raw
        self._terminal = out.isatty()
        self._lines: dict[str, Lines] = {}
        self._names: set[str] = set()
        self._shown_unfinished = False

    def expect(self, names: list[str]) -> None:
        """Tell which workers there are, as `role/rank`: with more than one, lines get their names."""
        self._names |= set(names)

    def write(self, name: str, text: str) -> None:
        """Add what a worker printed."""
        if not text:
            return
        if self._raw:
            self._out.write(safe_coloured_text(text, keep="\r") if self._terminal else text)
        else:
            lines = self._lines.setdefault(name, Lines())
            self._put(name, lines.feed(text))
            self._show_unfinished(name, lines.unfinished)
        self._out.flush()

    def finish(self, name: str) -> None:
        """The worker prints nothing more."""
        if name in self._lines:
            self._put(name, self._lines.pop(name).finish())
            self._out.flush()

    def finish_all(self) -> None:
        """Nothing more comes from anybody."""
        for name in list(self._lines):
            self.finish(name)

    def _put(self, name: str, lines: list[str]) -> None:
        if not lines:
            return
        self._wipe()
        for line in lines:
            self._out.write(f"{self._prefix(name)}{self._shown(line)}\n")

    def _shown(self, line: str) -> str:
        """On a terminal only colours have an effect; files and pipes get the bytes that were printed."""
        return safe_coloured_text(line) if self._terminal else line

    def _prefix(self, name: str) -> str:
        if len(self._names) < 2:
            return ""
        return f"{name.ljust(max(map(len, self._names)))} | "

    def _show_unfinished(self, name: str, text: str) -> None:
        """On a terminal a progress bar is seen while it moves."""
        if self._terminal:
            self._wipe()
            self._out.write(f"{self._prefix(name)}{self._shown(text)}")
            self._shown_unfinished = bool(text)

    def _wipe(self) -> None:
        if self._shown_unfinished:
            self._out.write("\r\x1b[2K")
            self._shown_unfinished = False
