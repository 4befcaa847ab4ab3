"""Which orders are plain Python calls. Files and programs are real, processes there are none."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from tests.engines.supervisor.node import an_order

from tenuto.engines.supervisor.warm.call import environment_of, python_call
from tenuto.wire.worker import WorkerOrder


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "trening 학습.py").touch()
    (tmp_path / "train.py").touch()
    (tmp_path / "app.pyz").touch()
    return tmp_path


def an_order_in(place: Path, *argv: str, **fields: Any) -> WorkerOrder:
    return an_order("zadanie", *argv, cwd=str(place), **fields)


@pytest.mark.parametrize(
    ("argv", "script", "module", "arguments"),
    [
        (("python3", "train.py", "--lr", "0.1"), "train.py", "", ("--lr", "0.1")),
        (("python3", "-u", "trening 학습.py"), "trening 학습.py", "", ()),
        (("python3", "-m", "pakiet.train", "-m"), "", "pakiet.train", ("-m",)),
        (("/bin/sh", "-c", "python3 'trening 학습.py' \"dwa słowa\""), "trening 학습.py", "", ("dwa słowa",)),
        (("sh", "-c", "exec python3 train.py"), "train.py", "", ()),
    ],
)
def test_plain_calls_are_understood(
    place: Path, argv: tuple[str, ...], script: str, module: str, arguments: tuple[str, ...]
) -> None:
    call = python_call(an_order_in(place, *argv, path_first=str(Path(sys.executable).parent)), {})

    assert call is not None
    assert (call.script, call.module, call.arguments) == (script, module, arguments)
    assert call.program == str(Path(sys.executable).parent / "python3")


@pytest.mark.parametrize(
    "argv",
    [
        ("sleep", "1000"),
        ("python3",),
        ("python3", "-c", "print()"),
        ("python3", "-O", "train.py"),
        ("python3", "nie-ma.py"),
        ("python3", "app.pyz"),
        ("python3", "-m"),
        ("pythonish", "train.py"),
        ("/nie/ma/python3", "train.py"),
        ("/bin/sh", "-c", "python3 train.py | tee log"),
        ("/bin/sh", "-c", "python3 train.py $ARGS"),
        ("/bin/sh", "-c", "cd sub && python3 train.py"),
        ("/bin/sh", "-c", "LR=1 python3 train.py"),
        ("/bin/sh", "-c", "python3 'train.py"),
        ("/bin/sh", "-c", ""),
    ],
)
def test_anything_else_is_left_to_an_exec(place: Path, argv: tuple[str, ...]) -> None:
    assert python_call(an_order_in(place, *argv, path_first=str(Path(sys.executable).parent)), {}) is None


def test_a_program_beside_the_script_is_found_from_there(place: Path) -> None:
    programs = place / "środowisko" / "bin"
    programs.mkdir(parents=True)
    (programs / "python").symlink_to(sys.executable)

    call = python_call(an_order_in(place, "środowisko/bin/python", "train.py"), {})
    by_path = python_call(an_order_in(place, "python", "train.py", path_first="środowisko/bin"), {})

    assert call is not None
    assert by_path is not None
    assert call.program == by_path.program == str(programs / "python")


def test_only_what_is_read_at_the_start_makes_another_environment(place: Path) -> None:
    def environment(job: str = "a", setup: str = "", **variables: str) -> object:
        order = an_order_in(place, sys.executable, "train.py", env=variables, setup=setup)
        order = an_order(job, *order.argv, cwd=str(place), env=variables, setup=setup)
        call = python_call(order, {})
        assert call is not None
        return environment_of(order, call)

    usual = environment(RANK="0", LR="0.1", OMP_NUM_THREADS="1")

    assert environment(job="b", RANK="1", LR="0.2", OMP_NUM_THREADS="2") == usual
    assert environment(PYTHONPATH="/lib") != usual
    assert environment(OMP_PROC_BIND="true") != usual
    assert environment(job="a", setup="pip install x") != environment(job="b", setup="pip install x")


def test_a_relative_path_to_modules_counts_from_the_working_directory(place: Path) -> None:
    order = an_order_in(place, sys.executable, "train.py", env={"PYTHONPATH": "src"})
    call = python_call(order, {})

    assert call is not None
    assert environment_of(order, call).directory == str(place)
