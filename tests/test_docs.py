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

from tenuto.cli.home import Home
from tenuto.cli.main import OUR_BUG, app
from tenuto.cli.run import INTERRUPTED
from tenuto.errors import TenutoError
from tenuto.settings import Settings
from tenuto.sim.report import Summary
from tenuto.store.base import StoreUnavailable
from tenuto.wire import env
from tenuto.wire.api import (
    AfterIn,
    CheckpointIn,
    JobIn,
    LimitsIn,
    RetryIn,
    RoleIn,
    TotalIn,
    WorkersIn,
)
from tenuto.wire.job_file import in_order, read_jobs

ROOT = Path(__file__).parents[1]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
CONSOLE = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FILE = re.compile(r'^```\w+ title="([^"]+)"\n(.*?)^```$', re.MULTILINE | re.DOTALL)


EXIT_CODE = re.compile(r"# exit code (\d+)")


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


UNDOCUMENTED = ("policies",)
"""Commands whose help says all there is."""
PROGRAM: Any = typer.main.get_command(app)
OPTIONS = [
    option
    for name, command in PROGRAM.commands.items()
    if not command.hidden and name not in UNDOCUMENTED
    for option in options_of(command, name)
]


@pytest.fixture(scope="module")
def words() -> set[str]:
    """Everything that the documents write as code."""
    text = "\n".join(document.read_text(encoding="utf-8") for document in DOCUMENTS)
    return {word for code in re.findall(r"`([^`\n]+)`", text) for word in re.findall(r"[\w-]+", code)}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty directory with a home of its own, in which nothing goes on running."""
    monkeypatch.chdir(tmp_path)
    home = Home(tmp_path / "home")
    monkeypatch.setenv("TENUTO_HOME", str(home.path))
    yield tmp_path
    if home.is_served():
        CliRunner().invoke(app, ["down", "--yes"])


@pytest.mark.parametrize("document", WITH_COMMANDS, ids=lambda path: path.name)
def test_every_command_runs(document: Path, place: Path) -> None:
    """One after the other, as a reader would type them; a comment tells if the exit code is not 0."""
    for name, text in FILE.findall(document.read_text(encoding="utf-8")):
        (place / name).write_text(text, encoding="utf-8")
    for command in commands_in(document):
        result = CliRunner().invoke(app, shlex.split(command, comments=True)[1:])
        code = getattr(result.exception, "exit_code", result.exit_code)
        told = EXIT_CODE.search(command)
        expected = int(told[1]) if told else 0
        assert code == expected, f"$ {command}\n{result.output}{result.exception or ''}"


def test_there_are_commands_to_run() -> None:
    assert WITH_COMMANDS


@pytest.mark.parametrize("option", OPTIONS)
def test_every_option_is_described(option: str, words: set[str]) -> None:
    assert option.rpartition(" ")[2] in words


@pytest.mark.parametrize("key", [field.name for field in fields(Summary)])
def test_every_key_of_the_result_is_described(key: str, words: set[str]) -> None:
    assert key in words


@pytest.fixture(scope="module")
def job_page() -> str:
    return (ROOT / "docs" / "jobs.md").read_text(encoding="utf-8")


def test_the_table_of_a_job_files_keys_is_complete(job_page: str) -> None:
    section = job_page.partition("\n## Keys\n")[2].partition("\n## ")[0]

    assert re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE) == [*JobIn.model_fields, "hosts"]


@pytest.mark.parametrize("model", [LimitsIn, RoleIn, TotalIn, AfterIn, RetryIn, CheckpointIn, WorkersIn])
def test_every_key_below_a_key_is_described(model: Any, words: set[str]) -> None:
    assert set(model.model_fields) <= words


def test_every_example_of_a_job_file_can_be_submitted(job_page: str, tmp_path: Path) -> None:
    examples = FILE.findall(job_page)
    for name, text in examples:
        (tmp_path / name).write_text(text, encoding="utf-8")
        assert [job.checked() for job in in_order(read_jobs(str(tmp_path / name)))]
    assert len(examples) > 3


def test_every_variable_of_a_worker_is_described(words: set[str]) -> None:
    variables = {value for name, value in vars(env).items() if name.isupper()}

    assert variables <= words


def test_every_exit_code_is_described() -> None:
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    section = page.partition("\n## Exit codes\n")[2].partition("\n## ")[0]
    described = {int(code) for code in re.findall(r"^\| (\d+) \|", section, re.MULTILINE)}

    errors: list[type[TenutoError]] = [StoreUnavailable, *_errors(TenutoError)]
    known = {error.exit_code for error in errors}
    assert described == {0, INTERRUPTED, OUR_BUG, *known}


def _errors(kind: type[TenutoError]) -> Iterator[type[TenutoError]]:
    yield kind
    for below in kind.__subclasses__():
        yield from _errors(below)


def test_the_table_of_settings_is_complete_and_tells_the_defaults() -> None:
    page = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
    section = page.partition("\n## Settings\n")[2].partition("\n## ")[0]

    told = dict(re.findall(r"^\| `([a-z]+\.\w+)` \| (\S*) ?\|", section, re.MULTILINE))

    assert told == {
        f"{group.name}.{setting.name}": _written(getattr(getattr(Settings(), group.name), setting.name))
        for group in fields(Settings)
        for setting in fields(getattr(Settings(), group.name))
    }


def _written(value: object) -> str:
    if value is None:
        return "null"
    return f"{value:.15g}" if isinstance(value, float) else str(value)
