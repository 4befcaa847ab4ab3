"""An experiment that is killed or stopped: what is finished stays, the rest is done later, nobody is left over."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.lab.experiments import HOLDING, a_policy, a_trace, an_experiment, times_of
from typer.testing import CliRunner

import tenuto
from tenuto.cli.main import app

PROGRAM = (sys.executable, "-c", "from tenuto.cli.main import main; main()")
SOURCES = str(Path(tenuto.__file__).parents[1])
PATIENCE = 120
"""Seconds after which a test that waits in vain fails instead of waiting for ever."""


@dataclass
class Disturbed:
    """A laboratory in the middle of its work: one cell is finished, one stands still, one waits."""

    program: subprocess.Popen[bytes]
    terminal: int
    pipe: int
    """The standing process holds its other end until it ends."""
    out: Path

    def ends(self) -> str:
        """Wait for the end of the program and of all processes that it started; return what it showed."""
        assert wait_for(self.pipe, lambda seen: False) == b""
        shown = wait_for(self.terminal, lambda seen: False)
        self.program.wait()
        return shown.decode()


def wait_for(source: int, enough: Callable[[bytes], bool]) -> bytes:
    """Read until it is enough, or until nobody is left who could write."""
    seen = b""
    while not enough(seen):
        ready, _, _ = select.select([source], [], [], PATIENCE)
        assert ready, f"nothing comes any more after {seen.decode()}"
        try:
            more = os.read(source, 4096)
        except OSError:  # the other side of a terminal was closed
            break
        if not more:
            break
        seen += more
    return seen


@pytest.fixture
def experiment(tmp_path: Path) -> Path:
    """Three cells: the longest trace comes first, and it is the quick policy's."""
    a_policy(tmp_path / "holding.py", HOLDING)
    a_trace(tmp_path / "many.csv", jobs=8)
    return an_experiment(tmp_path / "three.yaml", traces=["many.csv"], policies=["fifo", "holding.py", "edf"])


@pytest.fixture
def disturbed(experiment: Path, tmp_path: Path) -> Iterator[Disturbed]:
    hold, out = tmp_path / "hold", tmp_path / "out"
    os.mkfifo(hold)
    pipe = os.open(hold, os.O_RDONLY | os.O_NONBLOCK)
    terminal, screen = pty.openpty()
    program = subprocess.Popen(
        [*PROGRAM, "lab", "run", str(experiment), "--processes", "2", "--out", str(out)],
        stdout=subprocess.PIPE,
        stderr=screen,
        env=os.environ | {"PYTHONPATH": SOURCES, "TERM": "xterm", "COLUMNS": "200", "HOLD": str(hold)},
        start_new_session=True,
    )
    os.close(screen)
    with program:
        shown = wait_for(terminal, lambda seen: b"1 of 3 cells" in seen)
        assert b"1 of 3 cells" in shown, shown.decode()
        assert wait_for(pipe, bool) == b"standing"
        yield Disturbed(program, terminal, pipe, out)
        program.kill()
    os.close(terminal)
    os.close(pipe)


def lab(*arguments: str | Path) -> str:
    result = CliRunner().invoke(app, ["lab", *map(str, arguments)])
    assert result.exit_code == 0, result.output
    return result.stdout


def report(out: Path, form: str) -> bytes:
    lab("report", out, "--out", out / f"report.{form}")
    return (out / f"report.{form}").read_bytes()


def test_after_sigkill_the_same_table_as_undisturbed(disturbed: Disturbed, experiment: Path) -> None:
    disturbed.program.kill()
    disturbed.ends()
    finished = times_of(disturbed.out)
    assert 1 <= len(finished) < 3

    lab("run", experiment, "--out", disturbed.out, "--processes", "1")
    undisturbed = disturbed.out.with_name("undisturbed")
    lab("run", experiment, "--out", undisturbed, "--processes", "1")

    after = times_of(disturbed.out)
    assert len(after) == 3
    assert {name: after[name] for name in finished} == finished
    for form in ("csv", "parquet", "md", "json"):
        assert report(disturbed.out, form) == report(undisturbed, form)


def test_ctrl_c_says_how_to_go_on(disturbed: Disturbed, experiment: Path) -> None:
    os.killpg(disturbed.program.pid, signal.SIGINT)
    shown = disturbed.ends()

    done = len(times_of(disturbed.out))
    assert disturbed.program.returncode == 130
    assert "Traceback" not in shown
    assert f"Stopped: {done} of 3 cells are done. The same command goes on with the rest." in shown
    lab("run", experiment, "--out", disturbed.out, "--processes", "1")
    assert len(times_of(disturbed.out)) == 3
