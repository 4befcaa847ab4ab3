"""Keys as a terminal sends them, by their names; and the terminal as it must be while somebody presses them."""

from __future__ import annotations

import codecs
import os
import shutil
import termios
from types import TracebackType
from typing import Self

ESCAPE = "\x1b"
_ENTER = "\x1b[?1049h\x1b[?25l\x1b[?7l\x1b[2J"
"""Another page than the one with what was typed before, no cursor, and no line that wraps."""
_LEAVE = "\x1b[?7h\x1b[?25h\x1b[?1049l"
_SEQUENCES = {
    **dict.fromkeys(("[A", "OA"), "up"),
    **dict.fromkeys(("[B", "OB"), "down"),
    **dict.fromkeys(("[C", "OC"), "right"),
    **dict.fromkeys(("[D", "OD"), "left"),
    **dict.fromkeys(("[H", "OH", "[1~", "[7~"), "home"),
    **dict.fromkeys(("[F", "OF", "[4~", "[8~"), "end"),
    "[5~": "page-up",
    "[6~": "page-down",
    "[3~": "delete",
    **dict.fromkeys(("OP", "[11~"), "f1"),
}
_LONGEST = 16
_PLAIN = {
    "\r": "enter",
    "\n": "enter",
    "\t": "tab",
    "\x7f": "backspace",
    "\x08": "backspace",
    "\x03": "ctrl-c",
}


class KeyReader:
    """Makes keys of bytes, which may come in any pieces."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""

    def feed(self, data: bytes) -> list[str]:
        """The keys that are complete; what is not is kept for the next piece."""
        text = self._rest + self._decoder.decode(data)
        keys: list[str] = []
        while text:
            length = _length(text)
            if length == 0:
                break
            keys += _named(text[:length])
            text = text[length:]
        self._rest = text
        return keys

    @property
    def waits(self) -> bool:
        """Whether something has begun that may be a key alone, or the beginning of one."""
        return bool(self._rest)

    def flush(self) -> list[str]:
        """Nothing more has come: it was the key Esc."""
        rest, self._rest = self._rest, ""
        return ["escape"] if rest else []


def _length(text: str) -> int:
    """Characters of the first key; 0 if it is not complete."""
    if text[0] != ESCAPE:
        return 1
    if len(text) == 1:
        return 0
    if text[1] not in "[O":
        return 1
    if text[1] == "O":
        return 3 if len(text) >= 3 else 0
    for index, character in enumerate(text[2:_LONGEST], 2):
        if "@" <= character <= "~":
            return index + 1
    return 0 if len(text) < _LONGEST else _LONGEST


def _named(text: str) -> list[str]:
    if text == ESCAPE:
        return ["escape"]
    if text[0] == ESCAPE:
        found = _SEQUENCES.get(text[1:])
        return [] if found is None else [found]
    return [_PLAIN.get(text, text)]


class Terminal:
    """A terminal that gives keys at once and shows a page of its own; afterwards it is as it was before."""

    def __init__(self, reads: int, writes: int) -> None:
        """The descriptors of its keyboard and its screen."""
        self.reads = reads
        self._writes = writes
        self._before = termios.tcgetattr(reads)

    def __enter__(self) -> Self:
        self.enter()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.leave()

    def enter(self) -> None:
        """Begin, or go on after the program was stopped for a while."""
        mode = termios.tcgetattr(self.reads)
        mode[3] &= ~(termios.ICANON | termios.ECHO)
        mode[6][termios.VMIN], mode[6][termios.VTIME] = 1, 0
        termios.tcsetattr(self.reads, termios.TCSADRAIN, mode)
        self.write(_ENTER)

    def leave(self) -> None:
        """Leave it as it was found, even if nobody looks at it any more."""
        try:
            self.write(_LEAVE)
        finally:
            termios.tcsetattr(self.reads, termios.TCSADRAIN, self._before)

    def write(self, text: str) -> None:
        """Send text, all of it."""
        data = text.encode("utf-8", "replace")
        while data:
            data = data[os.write(self._writes, data) :]

    def read(self) -> bytes:
        """What was typed; empty if there will be nothing any more."""
        try:
            return os.read(self.reads, 4096)
        except OSError:  # the terminal is gone
            return b""

    @property
    def size(self) -> tuple[int, int]:
        """Columns and lines."""
        try:
            found = os.get_terminal_size(self._writes)
        except OSError:
            found = shutil.get_terminal_size()
        return found.columns or 80, found.lines or 24
