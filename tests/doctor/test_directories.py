"""Directories: usable, missing, read-only, full, or on a file server that never answers."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tenuto.doctor import directories
from tenuto.doctor.directories import find_directory
from tenuto.doctor.finding import Finding, Status


def look_at(path: Path) -> list[Finding]:
    return list(find_directory("directories", path))


def test_a_directory_that_can_be_used_says_how_much_room_is_left_and_keeps_nothing(tmp_path: Path) -> None:
    place = tmp_path / "데이터"
    place.mkdir()

    use, room = look_at(place)

    assert (use.status, use.name) == (Status.OK, str(place))
    assert "can be read and written" in use.told
    assert room.value == pytest.approx(shutil.disk_usage(place).free, rel=0.1)
    assert list(place.iterdir()) == []


def test_what_is_not_there_or_no_directory_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    assert [(one.status, one.told) for one in look_at(tmp_path / "nowhere")] == [
        (Status.PROBLEM, "is not there")
    ]
    assert [one.told for one in look_at(tmp_path / "file")] == ["is no directory"]


def test_a_directory_that_can_only_be_read_is_pointed_out() -> None:
    [found] = look_at(Path("/proc/self"))

    assert found.status is Status.WARNING
    assert found.told.startswith("can be read, not written")


@pytest.mark.parametrize(
    ("free", "status"), [(100 << 20, Status.PROBLEM), (1 << 30, Status.WARNING), (1 << 39, Status.OK)]
)
def test_little_room_is_told_before_there_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free: int, status: Status
) -> None:
    usage = shutil._ntuple_diskusage(1 << 40, (1 << 40) - free, free)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)

    _, room = look_at(tmp_path)

    assert room.status is status
    assert (room.remedy != "") is (status is not Status.OK)


@pytest.fixture
def gone() -> Iterator[threading.Event]:
    """A file server that answers when the test is over."""
    back = threading.Event()
    yield back
    back.set()


def test_a_directory_that_does_not_answer_is_not_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, gone: threading.Event
) -> None:
    def hang(topic: str, path: Path) -> Iterator[Finding]:
        gone.wait()
        yield Finding(topic=topic, name=str(path), told="too late")

    monkeypatch.setattr(directories, "_look", hang)
    monkeypatch.setattr(directories, "_PATIENCE", 0.05)

    [found] = look_at(tmp_path)

    assert found.status is Status.PROBLEM
    assert "does not answer" in found.told
