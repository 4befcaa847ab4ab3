"""Pieces of a line that fit into so many cells of a terminal, whatever script they are written in. Pure."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import TypeAlias

from rich.cells import cell_len, set_cell_size
from rich.text import Text

Part: TypeAlias = Text | str | tuple[str, str]
"""Of a line: a text, or one with a style."""
MORE = "…"
UNKNOWN = "-"
_PARTS = " ▏▎▍▌▋▊▉"
_FULL = "█"
_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-_])")
_UNITS = ("B", "K", "M", "G", "T", "P")
_HIGH, _MIDDLE = 90.0, 60.0


def clean(text: str) -> str:
    """Text of others without what would move the cursor or change its colours."""
    plain = _ESCAPES.sub("", text).expandtabs(4)
    return "".join(
        character for character in plain if unicodedata.category(character) not in ("Cc", "Cf", "Zl", "Zp")
    )


def fitted(text: str, width: int, *, right: bool = False) -> str:
    """Exactly so many cells: filled up with blanks, or cut with a sign that there was more."""
    text = clean(text)
    if width <= 0:
        return ""
    if cell_len(text) > width:
        return set_cell_size(set_cell_size(text, width - 1).rstrip() + MORE, width)
    return " " * (width - cell_len(text)) + text if right else set_cell_size(text, width)


def bar(percent: float | None, width: int) -> str:
    """A share as a bar, with an eighth of a cell as its finest step."""
    if percent is None:
        return " " * width
    eighths = round(min(max(percent, 0.0), 100.0) / 100 * width * 8)
    whole, part = divmod(eighths, 8)
    return (_FULL * whole + (_PARTS[part] if part else "")).ljust(width)


def meter(percent: float | None, width: int, *, alarming: bool = False) -> Text:
    """A bar and its number; what is nearly full is red only where that is bad."""
    if percent is None:
        return Text(fitted(UNKNOWN, width, right=True), style="dim")
    number = f"{min(percent, 999):3.0f}%"
    drawn = bar(percent, max(width - len(number) - 1, 0))
    return Text.assemble((drawn, level(percent, alarming=alarming)), (f" {number}", "default"))


def level(percent: float, *, alarming: bool = False) -> str:
    """The colour of a share."""
    if percent >= _HIGH:
        return "red" if alarming else "bright_green"
    return "yellow" if alarming and percent >= _MIDDLE else "green"


def size(count: float | None) -> str:
    """Bytes in four or five characters: `512K`, `3.2G`."""
    if count is None:
        return UNKNOWN
    for unit in _UNITS:
        if abs(count) < 999.5 or unit == _UNITS[-1]:
            small = unit != "B" and abs(count) < 9.95
            return f"{count:.1f}{unit}" if small else f"{count:.0f}{unit}"
        count /= 1024
    raise AssertionError("there is a last unit")


def number(value: float | None) -> str:
    """Three digits that mean something."""
    if value is None:
        return UNKNOWN
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def joined(parts: Sequence[Part]) -> Text:
    """One line."""
    return Text.assemble(*parts, no_wrap=True, end="")
