"""Tables whose columns give way in a narrow terminal, the least important first. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from rich.text import Text

from tenuto.cli.top.cells import Part, fitted, joined

Json = dict[str, Any]
GAP = 1


@dataclass(frozen=True, slots=True)
class Column:
    """One column."""

    title: str
    width: int
    """Cells at least; the columns that grow share what is left."""
    rank: int
    """Those with the highest number give way first."""
    cell: Callable[[Json, int], Text | str]
    """What stands there for a row, in so many cells."""
    order: str = ""
    """The server's name for the order by this column; empty if there is none."""
    right: bool = False
    grows: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """A kind of rows."""

    name: str
    columns: tuple[Column, ...]

    @property
    def orders(self) -> tuple[str, ...]:
        """By what it can be sorted, in the order of its columns."""
        return tuple(dict.fromkeys(column.order for column in self.columns if column.order))

    def fitting(self, width: int) -> list[tuple[Column, int]]:
        """The columns that have room, with their widths."""
        kept: list[Column] = []
        room = width
        for column in sorted(self.columns, key=lambda one: one.rank):
            if column.width + (GAP if kept else 0) <= room:
                kept.append(column)
                room -= column.width + (GAP if len(kept) > 1 else 0)
        shown = [column for column in self.columns if column in kept]
        more = _shares(max(room, 0), sum(column.grows for column in shown))
        return [(column, column.width + (next(more) if column.grows else 0)) for column in shown]

    def title(self, width: int, order: str) -> Text:
        """The line above the rows; the column by which they are sorted stands out."""
        parts: list[tuple[str, str]] = []
        for column, cells in self.fitting(width):
            sorted_by = column.order and column.order == order.removeprefix("-")
            mark = "▲" if order.startswith("-") else "▼"
            text = fitted(column.title + (mark if sorted_by else ""), cells, right=column.right)
            parts += [(text, "bold underline" if sorted_by else "bold"), (" " * GAP, "")]
        return joined(parts[:-1])

    def line(self, row: Json, width: int, *, selected: bool = False) -> Text:
        """One row."""
        parts: list[Part] = []
        for column, cells in self.fitting(width):
            found = column.cell(row, cells)
            if isinstance(found, str):
                found = Text(fitted(found, cells, right=column.right))
            else:
                found = _in_cells(found, cells, right=column.right)
            parts += [found, " " * GAP]
        made = joined(parts[:-1])
        if selected:
            made.pad_right(max(width - made.cell_len, 0))
            made.stylize("reverse")
        return made


def _shares(room: int, number: int) -> Iterator[int]:
    """As even as whole cells can be, the first ones first."""
    return (room // number + (place < room % number) for place in range(number))


def _in_cells(text: Text, width: int, *, right: bool) -> Text:
    """The same for what has colours already: one style over a text that is cut, many over one that fits."""
    if text.cell_len > width:
        return Text(fitted(text.plain, width), style=text.style or _first_style(text))
    blanks = width - text.cell_len
    made = text.copy()
    if right:
        made.pad_left(blanks)
    else:
        made.pad_right(blanks)
    return made


def _first_style(text: Text) -> str:
    return str(text.spans[0].style) if text.spans else ""
