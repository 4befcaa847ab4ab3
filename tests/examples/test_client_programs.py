"""The programs with the typed clients do what their page says."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.e2e.platform import HANG, Platform

import tenuto

PROGRAMS = Path(__file__).parents[2] / "examples" / "client"


@pytest.fixture(scope="module")
def platform(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Platform]:
    costs = ("--start-cost", "0.1", "--rescale-cost", "0.1")
    made = Platform(tmp_path_factory.mktemp("clients"), "--nodes", "1", "--slots", "4", *costs)
    try:
        yield made.up()
        made.down()
        made.leaves_nothing()
    finally:
        made.end()


def printed(platform: Platform, command: str) -> str:
    """What a program prints that must succeed."""
    program, *options = shlex.split(command)
    source = str(Path(tenuto.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, program, *options],
        cwd=PROGRAMS,
        env={**platform.environment, "PYTHONPATH": source, "PYTHONUTF8": "1"},
        capture_output=True,
        text=True,
        timeout=HANG,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_deadline_is_promised(platform: Platform) -> None:
    lines = printed(platform, "deadline.py --minutes 60").splitlines()

    assert lines[0].startswith("Yes: by-then will be done by 20")
    assert lines[-1] == "It has succeeded"


def test_a_deadline_that_cannot_be_promised_is_put_off(platform: Platform) -> None:
    lines = printed(platform, "deadline.py --minutes 0.1").splitlines()

    assert lines[0].startswith("No: ")
    assert lines[1].startswith("Yes: by-then will be done by 20")


def test_a_job_is_watched_to_its_end(platform: Platform) -> None:
    told = printed(platform, "watch.py")

    assert "-- submitted: - -> submitted" in told
    assert [line for line in told.splitlines() if not line.startswith("-- ")][:3] == [
        "안녕",
        "hello",
        "привет",
    ]
    assert told.splitlines()[-1] == "-- it has succeeded"


def test_many_jobs_are_awaited_at_once(platform: Platform) -> None:
    lines = printed(platform, "many.py --jobs 6").splitlines()

    assert len(lines) == 6
    assert all(re.fullmatch(r"\d of 6: one-of-many-\d has succeeded", line) for line in lines)


def test_the_page_of_the_clients_is_a_program_that_runs(platform: Platform, tmp_path: Path) -> None:
    page = (PROGRAMS.parents[1] / "docs" / "client.md").read_text(encoding="utf-8")
    program = tmp_path / "page.py"
    program.write_text("\n".join(re.findall(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)))

    told = printed(platform, str(program))

    assert "promised for 20" in told
    assert "is declined" in told
    assert "earliest: 20" in told
    assert "cancelled" in told
    assert str(["succeeded"] * 5) in told


def test_the_page_of_the_clients_names_every_method() -> None:
    page = (PROGRAMS.parents[1] / "docs" / "client.md").read_text(encoding="utf-8")
    words = {word for code in re.findall(r"`([^`\n]+)`", page) for word in re.findall(r"\w+", code)}

    assert {name for name in vars(tenuto.Client) if not name.startswith("_")} - {"close", "url"} <= words


def test_the_page_names_every_program() -> None:
    page = (PROGRAMS / "README.md").read_text(encoding="utf-8")

    assert {path.name for path in PROGRAMS.glob("*.py")} == set(re.findall(r"python (\w+\.py)", page))
