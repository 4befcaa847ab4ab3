"""The program as a whole: its version, its help, and the first thing that one tries."""

from __future__ import annotations

import errno
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.core import TyperGroup
from typer.testing import CliRunner

import tenuto
from tenuto.cli import main
from tenuto.cli.main import app


def commands(command: Any, *path: str) -> Iterator[tuple[tuple[str, ...], Any]]:
    """The program and every command below it."""
    yield path, command
    if isinstance(command, TyperGroup):
        for name, below in command.commands.items():
            yield from commands(below, *path, name)


EVERY = dict(commands(typer.main.get_command(app), "tenuto"))
each_command = pytest.mark.parametrize("path", EVERY, ids=" ".join)


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    return result.stdout


def test_the_laboratory_has_its_commands() -> None:
    traces = {("tenuto", "trace", name) for name in ("generate", "convert", "describe", "add", "list")}

    assert EVERY.keys() >= {("tenuto", "replay"), ("tenuto", "policies"), *traces}


@each_command
def test_every_command_says_what_it_does(path: tuple[str, ...]) -> None:
    assert EVERY[path].help.strip().endswith(".")


@each_command
def test_every_option_and_argument_is_explained(path: tuple[str, ...]) -> None:
    unexplained = [parameter.name for parameter in EVERY[path].params if not parameter.help]

    assert unexplained == []


@each_command
def test_the_help_lists_every_option(path: tuple[str, ...]) -> None:
    text = run(*path[1:], "--help")

    options = [name for parameter in EVERY[path].params for name in parameter.opts if name.startswith("-")]
    assert [name for name in options if not re.search(rf"(?<![\w-]){name}(?![\w-])", text)] == []


@each_command
def test_the_short_form_asks_for_help_too(path: tuple[str, ...]) -> None:
    assert run(*path[1:], "-h") == run(*path[1:], "--help")


@pytest.mark.parametrize("name", [name for name, later in main.COMMANDS.items() if not later.hidden])
def test_the_list_of_commands_says_what_their_help_says(name: str) -> None:
    told = " ".join(EVERY["tenuto", name].help.split())
    summary = main.COMMANDS[name].summary

    assert summary.endswith(".")
    assert told.startswith(summary.rstrip(".")), told


def test_the_help_lists_every_command_once_and_no_second_names() -> None:
    listed = re.findall(r"^  (\w[\w-]*)  ", run("--help"), re.MULTILINE)

    assert listed == [name for name, later in main.COMMANDS.items() if not later.hidden]


def test_the_laboratorys_commands_are_listed_as_one_meets_them() -> None:
    assert list(EVERY["tenuto", "lab"].commands) == ["run", "report", "compare", "demo", "figure"]


def test_a_full_disk_is_no_bug(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def fail(prog_name: str) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(main, "app", fail)

    with pytest.raises(SystemExit) as caught:
        main.main()

    assert caught.value.code == 2
    assert capsys.readouterr().err == (
        "tenuto: there is no room for the output. Make room, or write it elsewhere\n"
    )


def test_a_bug_of_ours_is_owned_up_to(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(prog_name: str) -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr(main, "app", fail)

    with pytest.raises(SystemExit) as caught:
        main.main()

    assert caught.value.code == 70
    told = capsys.readouterr().err
    assert "ZeroDivisionError: oops" in told
    assert told.splitlines()[-1].startswith("tenuto: this is a bug of ours")


def test_the_version_is_the_packages() -> None:
    assert run("--version") == f"tenuto {tenuto.__version__}\n"


def test_without_a_command_the_help_appears() -> None:
    result = CliRunner().invoke(app, [])

    assert result.exit_code == 2
    assert all(name in result.output for name in ("replay", "policies", "trace"))


def test_the_references_smallest_trace_prints_both_counters(shared: Path) -> None:
    trace = shared / "data" / "traces" / "resnet_cifar_trace.csv"

    lines = run("replay", str(trace), "--cluster", "n1g8", "--slot", "240").splitlines()

    assert lines[-2:] == ["accepted jobs: 5", "declined jobs: 0"]


def test_the_references_smallest_trace_has_its_own_counts_in_its_own_semantics(shared: Path) -> None:
    trace = shared / "data" / "traces" / "resnet_cifar_trace.csv"

    lines = run(
        *("replay", str(trace), "--cluster", "n1g8", "--slot", "240"),
        *("--policy", "ef-accessctrl", "--compat", "artifact"),
    ).splitlines()

    assert lines[-2:] == ["accepted jobs: 4", "declined jobs: 1"]
