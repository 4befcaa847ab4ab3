"""`tenuto demo` ends cleanly whenever it is told to, and says what it lacks."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from pathlib import Path

import pytest
from tests.e2e.platform import HANG, PROGRAM, Platform

import tenuto
from tenuto.cli import demo_stage
from tenuto.cli.run import INTERRUPTED
from tenuto.errors import InputInvalid


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Platform]:
    """Not started: it only knows how to find what belongs to it."""
    made = Platform(tmp_path / "demo")
    try:
        yield made
    finally:
        made.end()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_it_leaves_nothing(number: signal.Signals, place: Platform) -> None:
    demo = subprocess.Popen(
        [*PROGRAM, "demo"],
        env={**place.environment, "PYTHONPATH": str(Path(tenuto.__file__).parents[1])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert demo.stdout
        assert "listens at" in demo.stdout.readline()
        [directory] = place.temporary.glob("tenuto-demo-*")
        place.home = directory / "home"
        assert place.processes()

        demo.send_signal(number)
        demo.communicate(timeout=HANG)

        assert demo.returncode == INTERRUPTED
        assert [process.cmdline() for process in place.processes()] == []
        assert list(place.temporary.glob("tenuto-demo-*")) == []
    finally:
        if demo.poll() is None:
            demo.kill()
            demo.communicate()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_whose_exception_was_ignored_still_interrupts(
    number: signal.Signals, place: Platform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(place.temporary))
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(demo_stage, "start_in_background", lambda _: None)
    monkeypatch.setattr(demo_stage, "connect", lambda **_: nullcontext())

    platform = demo_stage.platform(nodes=1, slots=1)
    ignored = suppress(KeyboardInterrupt)  # as Python does inside a destructor
    with pytest.raises(KeyboardInterrupt), platform, ignored:
        signal.raise_signal(number)

    assert list(place.temporary.glob("tenuto-demo-*")) == []


def test_a_server_that_does_not_end_is_killed_and_leaves_nothing(
    place: Platform, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """None ends within no time at all, so all of it is killed."""
    monkeypatch.setattr(demo_stage, "_PATIENCE", 0.0)
    monkeypatch.setenv("PYTHONPATH", str(Path(tenuto.__file__).parents[1]))
    monkeypatch.setenv("TMPDIR", str(place.temporary))
    monkeypatch.setattr(tempfile, "tempdir", None)
    with demo_stage.platform(nodes=1, slots=1):
        [directory] = place.temporary.glob("tenuto-demo-*")
        place.home = directory / "home"
        assert place.processes()

    assert "it is killed" in capsys.readouterr().err
    assert [process.cmdline() for process in place.processes()] == []
    assert list(place.temporary.glob("tenuto-demo-*")) == []


def test_without_torch_it_names_the_remedy(tmp_path: Path) -> None:
    """In a Python that can import everything but torch."""
    hidden = "import sys; sys.modules['torch'] = None; sys.argv[0] = 'tenuto'\nfrom tenuto.cli.main import main; main()"
    told = subprocess.run(
        [sys.executable, "-c", hidden, "demo"],
        env=os.environ | {"TENUTO_HOME": str(tmp_path), "PYTHONPATH": str(Path(tenuto.__file__).parents[1])},
        capture_output=True,
        text=True,
        check=False,
    )

    assert told.returncode == InputInvalid.exit_code
    assert "torch cannot be found. Install it with pip install 'tenuto[torch]'" in told.stderr
