"""Files that a worker can change are read with limits, without blocking, and never through links."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from tenuto.wire.untrusted_files import MAX_NAMES, UntrustedDirectory, part_name, part_start


def _listen(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(str(path))


def _device(path: Path) -> None:
    path.symlink_to("/dev/zero")


@pytest.fixture
def here(tmp_path: Path) -> UntrustedDirectory:
    (tmp_path / "link").mkdir()
    return UntrustedDirectory(tmp_path, "link")


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, _listen, _device])
def test_what_is_no_regular_file_is_a_problem_and_no_content(
    here: UntrustedDirectory, make: Callable[[Path], None]
) -> None:
    make(Path(str(here)) / "status")

    reading = here.read("status", 100)

    assert reading.data == b""
    assert "status" in reading.problem
    assert here.stamp("status")[1] == 0
    with pytest.raises(OSError):
        here.append("status", b"x")


def test_a_file_that_is_not_there_is_no_problem(here: UntrustedDirectory) -> None:
    assert (here.read("status", 100).data, here.read("status", 100).problem) == (b"", "")
    assert here.stamp("status") == (0, 0)
    assert here.below("steps").names().names == ()


def test_a_link_in_place_of_a_directory_is_not_followed(here: UntrustedDirectory, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "secret").write_text("geheim")
    (tmp_path / "link" / "steps").symlink_to(tmp_path / "elsewhere")
    steps = here.below("steps")

    steps.unlink("secret")

    assert steps.read("secret", 100).data == b""
    assert steps.read("secret", 100).problem
    assert steps.names().problem
    assert (tmp_path / "elsewhere" / "secret").exists()


def test_no_more_is_read_than_allowed(here: UntrustedDirectory, tmp_path: Path) -> None:
    (tmp_path / "link" / "log").write_bytes(b"0123456789")

    assert here.read("log", 4).data == b"0123"
    assert here.read("log", 4, 8).data == b"89"
    assert here.read("log", 100, -3).data == b"789"
    assert here.read_whole("log", 10).data == b"0123456789"
    assert here.read_whole("log", 9).problem


def test_a_directory_with_too_many_names_is_listed_in_part(here: UntrustedDirectory, tmp_path: Path) -> None:
    for number in range(MAX_NAMES + 1):
        (tmp_path / "link" / str(number)).touch()

    listing = here.names()

    assert len(listing.names) == MAX_NAMES
    assert listing.problem


@pytest.mark.parametrize(
    "name", ["²", "٣" * 20, "0" * 19, "9" * 20, "-" + "0" * 19, "x" * 20, " " + "0" * 19]
)
def test_only_offsets_with_all_their_digits_name_parts(name: str) -> None:
    assert part_start(name) is None


def test_the_name_of_a_part_can_be_read_back() -> None:
    assert [part_start(part_name(start)) for start in (0, 7, 1 << 40)] == [0, 7, 1 << 40]
