"""The commands that the documentation shows, found by the fences of its blocks."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    *sorted(page for place in ("docs", "examples", "deploy") for page in (ROOT / place).rglob("*.md")),
]
SHELL = ("sh", "bash", "shell")
"""Languages of blocks in which every line is a command; elsewhere a command stands behind `$ `."""
PROMPT = "$ "
_FENCE = re.compile(r"^ *```(?P<language>[^\s`]*)(?P<title> title=\S+)?.*$")


@dataclass(frozen=True, slots=True)
class Command:
    """A command as a reader would type it."""

    page: str
    """The file, relative to the project."""
    line: int
    language: str
    """Of its block."""
    text: str

    @property
    def words(self) -> str:
        """Without its quotes, its comment and superfluous blanks."""
        return " ".join(shlex.split(self.text, comments=True))

    def __str__(self) -> str:
        return f"{self.page}:{self.line}: {self.text}"


@dataclass(slots=True)
class _Block:
    language: str
    line: int
    is_file: bool
    lines: list[str]


def commands_in(page: str, text: str) -> list[Command]:
    """The commands of a page in their order. Blocks with a title are files, not commands."""
    return [
        Command(page, line, block.language, command)
        for block in _blocks(text)
        if not block.is_file
        for line, command in _commands(block)
    ]


def documented_commands() -> list[Command]:
    """The commands of all pages."""
    return [
        command
        for page in PAGES
        for command in commands_in(str(page.relative_to(ROOT)), page.read_text(encoding="utf-8"))
    ]


def output_lines(text: str) -> Iterator[tuple[int, str]]:
    """The lines of blocks that are no commands and no files, with their numbers."""
    for block in _blocks(text):
        if not block.is_file and block.language in ("", "text"):
            yield from enumerate(block.lines, block.line + 1)


def _blocks(text: str) -> Iterator[_Block]:
    block: _Block | None = None
    for number, line in enumerate(text.splitlines(), 1):
        fence = _FENCE.match(line)
        if fence is None:
            if block is not None:
                block.lines.append(line)
        elif block is None:
            block = _Block(fence["language"], number, fence["title"] is not None, [])
        else:
            yield block
            block = None


def _commands(block: _Block) -> Iterator[tuple[int, str]]:
    """Commands with the numbers of their first lines; one with an open quote or a backslash goes on."""
    begun, number = "", 0
    for at, line in enumerate(block.lines, block.line + 1):
        if begun:
            begun += "\n" + line
        elif block.language in SHELL:
            begun, number = line.strip(), at
        elif line.startswith(PROMPT):
            begun, number = line.removeprefix(PROMPT), at
        if begun and not begun.startswith("#") and _is_whole(begun):
            yield number, begun
            begun = ""
        elif begun.startswith("#"):
            begun = ""


def _is_whole(command: str) -> bool:
    if command.endswith("\\"):
        return False
    try:
        shlex.split(command, comments=True)
    except ValueError:
        return False
    return True
