"""What all live commands print alike: JSON for programs, plain lines for pipes, tables for people."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from threading import Timer

from rich.table import Table
from rich.text import Text

from tenuto.cli.console import Console
from tenuto.terminal_text import safe_json, safe_line, safe_text

_FILLED_UP = re.compile(r" +((?:\x1b\[[0-9;]*m)*)$", re.MULTILINE)
LOOKS_AHEAD = (
    "The server works out which promises this touches; "
    "the first time on a machine it compiles for that, which takes a minute or two."
)
SLOW = 3.0
"""Seconds: more than a client looks for a server, so that nobody is told what a server does that is not there."""
WIDE = 10_000
"""Columns of what is no terminal: a program that reads the lines wants them whole."""


def console(*, error: bool = False) -> Console:
    """Where people read; pipes and files get every line whole and without colours."""
    made = Console(stderr=error, highlight=False, soft_wrap=False)
    return made if made.is_terminal else Console(stderr=error, highlight=False, width=WIDE)


def print_list(table: Table) -> None:
    """A list with a line for each thing; a terminal wraps long lines better than narrow columns can be read."""
    _print(table, Console(highlight=False, width=WIDE))


def print_facts(table: Table, out: Console | None = None) -> None:
    """What `facts_of` made, folded into the width of a terminal."""
    _print(table, out or console())


def _print(table: Table, out: Console) -> None:
    """Without the blanks that fill the last column up: they would wrap, and nobody wants them in a file."""
    with out.capture() as printed:
        out.print(table, crop=False)
    out.file.write(_FILLED_UP.sub(r"\1", printed.get()))
    out.file.flush()


def say(message: str) -> None:
    """A remark that is no result: it goes to standard error."""
    Console(stderr=True, soft_wrap=True, highlight=False).print(Text(message))


@contextmanager
def remark_if_slow(message: str, after: float = SLOW) -> Iterator[None]:
    """Tell somebody who waits what for, if it takes longer than one waits without a thought."""
    timer = Timer(after, say, [message])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def write_text(text: str) -> None:
    """Write plain text for people to standard output, as it is except for characters that command a terminal."""
    sys.stdout.write(safe_text(text))
    sys.stdout.flush()


def write_data(text: str) -> None:
    """Write a document (CSV, YAML) to standard output: exactly as it is into files and pipes, safely to terminals."""
    sys.stdout.write(safe_text(text) if sys.stdout.isatty() else text)
    sys.stdout.flush()


def json_text(value: object, *, indent: int | None = None) -> str:
    """JSON text in which no character can command a terminal."""
    return safe_json(json.dumps(value, indent=indent, ensure_ascii=False))


def print_json(value: object, *, indent: int = 2) -> None:
    """One JSON value, readable for people and programs."""
    write_text(json_text(value, indent=indent) + "\n")


def print_json_line(value: object) -> None:
    """One JSON value in one line, for lists that do not end."""
    write_text(json_text(value) + "\n")


def table_of(columns: Iterable[str], rows: Iterable[Iterable[str]]) -> Table:
    """A list for people. Everything is text, not markup: names may contain square brackets, or control characters."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(Text(safe_line(cell)) for cell in row))
    return table


def facts_of(facts: Mapping[str, str]) -> Table:
    """One line per fact; those without content are left out."""
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, told in facts.items():
        if told:
            table.add_row(name, Text(safe_text(told)))
    return table
