"""The documentation keeps up with the program: its commands run, and it leaves no option or key out."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.core import TyperGroup
from typer.testing import CliRunner

from tenuto.cli.main import app
from tenuto.sim.report import Summary

ROOT = Path(__file__).parents[1]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r'^```\w+ title="([^"]+)"\n(.*?)^```$', re.MULTILINE | re.DOTALL)


def commands_in(document: Path) -> list[str]:
    """The tenuto commands of a document that need no public trace; a backslash continues a line."""
    blocks = CONSOLE.findall(document.read_text(encoding="utf-8"))
    lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    return [line[2:] for line in lines if line.startswith("$ tenuto ") and "TENUTO_SHARED" not in line]


WITH_COMMANDS = [document for document in DOCUMENTS if commands_in(document)]


def options_of(command: Any, *path: str) -> Iterator[str]:
    """Every option that can be given to a command or one below it, by its long name."""
    if isinstance(command, TyperGroup):
        for name, below in command.commands.items():
            yield from options_of(below, *path, name)
        return
    for parameter in command.params:
        for name in parameter.opts:
            if name.startswith("--") and name != "--help":
                yield " ".join((*path, name))


PROGRAM: Any = typer.main.get_command(app)
OPTIONS = [
    *options_of(PROGRAM.commands["replay"], "replay"),
    *options_of(PROGRAM.commands["trace"], "trace"),
    *options_of(PROGRAM.commands["lab"], "lab"),
]


@pytest.fixture(scope="module")
def words() -> set[str]:
    """Everything that the documents write as code."""
    text = "\n".join(document.read_text(encoding="utf-8") for document in DOCUMENTS)
    return {word for code in re.findall(r"`([^`\n]+)`", text) for word in re.findall(r"[\w-]+", code)}


@pytest.mark.parametrize("document", WITH_COMMANDS, ids=lambda path: path.name)
def test_every_command_runs(document: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TENUTO_HOME", str(tmp_path / "library"))
    for name, text in FILE.findall(document.read_text(encoding="utf-8")):
        (tmp_path / name).write_text(text, encoding="utf-8")
    for command in commands_in(document):
        result = CliRunner().invoke(app, shlex.split(command, comments=True)[1:])
        assert result.exit_code == 0, f"$ {command}\n{result.output}{result.exception or ''}"


def test_there_are_commands_to_run() -> None:
    assert WITH_COMMANDS


@pytest.mark.parametrize("option", OPTIONS)
def test_every_option_is_described(option: str, words: set[str]) -> None:
    assert option.rpartition(" ")[2] in words


@pytest.mark.parametrize("key", [field.name for field in fields(Summary)])
def test_every_key_of_the_result_is_described(key: str, words: set[str]) -> None:
    assert key in words
