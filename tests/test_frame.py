"""The repository's frame: what `make` offers, and how missing Debian packages are dealt with."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


def run(*command: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True, check=False
    )


def test_make_without_a_target_lists_every_target() -> None:
    listed = re.findall(r"^  make (\S+) +\S", run("make", "--no-print-directory").stdout, re.MULTILINE)

    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    phony = re.search(r"^\.PHONY: (.+)$", makefile, re.MULTILINE)
    assert phony is not None
    assert listed == phony[1].split()


class Machine:
    """A make-believe Debian whose only missing package is python3-venv."""

    def __init__(self, root: Path) -> None:
        self.python = root / "python"
        self.installed = root / "installed"
        self.commands = root / "bin"
        self.commands.mkdir()

    def command(self, name: str, script: str) -> None:
        path = self.commands / name
        path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
        path.chmod(0o755)

    def log_in(self, user_id: int) -> None:
        self.command("id", f"echo {user_id}")

    def see_to_packages(self) -> subprocess.CompletedProcess[str]:
        path = f"{self.commands}:{os.environ['PATH']}"
        return run("tools/debian-packages", PATH=path, PYTHON=str(self.python))


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    machine = Machine(tmp_path)
    python, installed = shlex.quote(str(machine.python)), shlex.quote(str(machine.installed))
    machine.command("apt-get", f'echo "$@" >> {installed}; ln -sf /bin/true {python}')
    return machine


def test_root_gets_missing_packages_installed(machine: Machine) -> None:
    machine.log_in(0)

    result = machine.see_to_packages()

    assert (result.returncode, result.stdout) == (0, "Installing Debian packages: python3-venv\n")
    assert machine.installed.read_text(encoding="utf-8").endswith("--no-install-recommends python3-venv\n")


def test_what_is_there_is_left_alone(machine: Machine) -> None:
    machine.log_in(0)
    machine.python.symlink_to("/bin/true")

    result = machine.see_to_packages()

    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    assert not machine.installed.exists()


def test_others_are_told_what_to_run(machine: Machine) -> None:
    machine.log_in(1000)

    result = machine.see_to_packages()

    assert result.returncode == 1
    assert result.stderr == (
        "Missing on this machine: python3-venv. "
        "Run this as root, then try again: apt-get install python3-venv\n"
    )
    assert not machine.installed.exists()


def test_a_failed_installation_shows_its_words(machine: Machine) -> None:
    machine.log_in(0)
    machine.command("apt-get", "echo 'Unable to locate package' >&2; exit 100")

    result = machine.see_to_packages()

    assert result.returncode == 1
    assert "Unable to locate package" in result.stderr
    assert "apt-get install python3-venv" in result.stderr
