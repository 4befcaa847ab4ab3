"""Files that are replaced as a whole, by processes that may be killed at any moment."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tenuto.atomic_file import is_temporary, remove_leftovers, replace_file, temporary_name

STOPS_BEFORE_THE_RENAME = """
import os, sys
from pathlib import Path

def stop(*_):
    sys.stdout.write("written\\n")
    sys.stdout.flush()
    sys.stdin.read()

os.replace = Path.replace = stop
path = sys.argv[1]
"""
WRITERS = {
    "replace_file": "from tenuto.atomic_file import replace_file; replace_file(path, b'new')",
    "home": "from tenuto.cli.home import write_private; write_private(Path(path), 'new')",
    "shim": "from tenuto.engines.supervisor.shim.files import write_whole; write_whole(path, 'new')",
    "result": "from tenuto.sim.whole_file import whole_file\nwith whole_file(Path(path)) as file: file.write('new')",
    "directory": "from tenuto.cli.whole_directory import directory_beside\n"
    "with directory_beside(Path(path + '.d'), anew=True) as part: (part / 'a').touch()",
    "worker's report": "from tenuto.sdk.worker_log import write_progress; write_progress(Path(path), {})",
}


@contextmanager
def writing(path: Path, writer: str) -> Iterator[subprocess.Popen[str]]:
    """A process that has written everything and not yet put it into its place."""
    program = STOPS_BEFORE_THE_RENAME + WRITERS[writer]
    process = subprocess.Popen(
        [sys.executable, "-c", program, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with process:
        assert process.stdout
        assert process.stdout.readline() == "written\n"
        yield process
        process.kill()


def names_in(directory: Path) -> list[str]:
    return [path.name for path in directory.iterdir()]


def temporary_files(directory: Path) -> list[Path]:
    return [path for path in directory.iterdir() if is_temporary(path.name)]


@pytest.mark.parametrize("writer", WRITERS)
def test_what_a_killed_writer_left_is_removed_after_its_end(tmp_path: Path, writer: str) -> None:
    path = tmp_path / "state.json"
    path.write_text("old")

    with writing(path, writer) as process:
        left = temporary_files(tmp_path)
        assert remove_leftovers(str(tmp_path)) == 0, "its writer lives"
        assert temporary_files(tmp_path) == left != []
        process.kill()

    assert temporary_files(tmp_path) == left
    assert remove_leftovers(str(tmp_path)) == 1
    assert names_in(tmp_path) == ["state.json"]
    assert path.read_text() == "old"


def test_a_file_is_replaced_with_its_permissions_and_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "token"

    replace_file(str(path), b"first")
    replace_file(str(path), b"second", durable=True)

    assert path.read_bytes() == b"second"
    assert path.stat().st_mode & 0o777 == 0o600
    assert names_in(tmp_path) == ["token"]


def test_a_failed_write_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "taken").mkdir()

    with pytest.raises(OSError, match="taken"):
        replace_file(str(tmp_path / "taken"), b"")

    assert names_in(tmp_path) == ["taken"]


def test_only_temporary_files_are_taken_for_such(tmp_path: Path) -> None:
    assert is_temporary(Path(temporary_name("/a/b.csv", ".csv")).name)
    for name in (
        ".bashrc",
        "00000000000000000000.part",
        ".a.part",
        ".a.x1.part",
        ".a.²3.part",
        ".a.1.partly",
        "a.1.part",
    ):
        assert not is_temporary(name)


def test_subdirectories_are_searched_only_on_demand_and_links_never(tmp_path: Path) -> None:
    nobody = 1 << 40
    for directory in (tmp_path / "home" / "lab", tmp_path / "elsewhere"):
        directory.mkdir(parents=True)
        (directory / f".x.{nobody}.part").touch()
    (tmp_path / "home" / "link").symlink_to(tmp_path / "elsewhere")

    assert remove_leftovers(str(tmp_path / "home")) == 0
    assert remove_leftovers(str(tmp_path / "home"), below=True) == 1
    assert len(temporary_files(tmp_path / "elsewhere")) == 1
