"""Processes that are killed leave no temporary file for good: none is made, or the next start or end removes it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.e2e.platform import Platform
from tests.test_atomic_file import temporary_files, writing

USES_A_STORE = """
import sys
from tenuto.store.base import Keyed
from tenuto.store.open import open_store

store = open_store(f"sqlite:///{sys.argv[1]}/store.sqlite")
def remember(number):
    keyed = Keyed(key=f"kim/{number}", fingerprint="x", result=f"job-{number}", at=1.0)
    return store.begin(lambda tx: tx.remember_key(keyed))

for done in [remember(number) for number in range(200)]:
    done.result()
store.close()
"""


@pytest.fixture
def platform(tmp_path: Path) -> Iterator[Platform]:
    made = Platform(tmp_path, "--nodes", "1", "--slots", "1")
    try:
        yield made
    finally:
        made.end()


def test_sqlite_makes_no_temporary_file_that_a_kill_could_leave(tmp_path: Path) -> None:
    """SQLite unlinks such files only after it made them: a process that is killed in between leaves one."""
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    before = temporary.stat().st_mtime_ns

    subprocess.run(
        [sys.executable, "-c", USES_A_STORE, str(tmp_path)],
        env={**os.environ, "TMPDIR": str(temporary)},
        timeout=60,
        check=True,
    )

    assert temporary.stat().st_mtime_ns == before, "a file was made there"


def test_the_next_start_and_down_remove_what_killed_processes_left(platform: Platform) -> None:
    node = platform.home / "nodes" / "node-0"
    platform.up()
    platform.kill()
    leave_temporary_file(platform.home / "server.json", "home")

    platform.up()

    assert temporary_files(platform.home) == []
    leave_temporary_file(platform.home / "server.json", "home")
    leave_temporary_file(node / "state.json", "shim")
    platform.down()
    platform.leaves_nothing()


def leave_temporary_file(path: Path, writer: str) -> None:
    """Kill a process while it replaces a file."""
    with writing(path, writer):
        pass
    assert len(temporary_files(path.parent)) == 1
