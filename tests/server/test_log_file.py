"""The server's log is read in pages, forwards and backwards, also while it is set aside under the reader's hands."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.server.serving import Served

from tenuto.errors import InputInvalid
from tenuto.server.log_file import LogPage, lines_after, newest_lines
from tenuto.server.platform import Files


class Log:
    """A log that is set aside now and then, as the standard library does it."""

    def __init__(self, path: Path, kept: int = 3) -> None:
        self.path = path
        self._kept = kept
        self.written: list[str] = []

    def write(self, *lines: str) -> None:
        with self.path.open("a", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)
        self.written += lines

    def set_aside(self) -> None:
        names = [self.path, *(self.path.with_name(f"{self.path.name}.{n + 1}") for n in range(self._kept))]
        for older, newer in zip(reversed(names), reversed(names[:-1]), strict=False):
            if newer.exists():
                newer.replace(older)
        self.path.touch()


@pytest.fixture
def log(tmp_path: Path) -> Log:
    return Log(tmp_path / "журнал.log")


def all_before(path: Path, limit: int, grep: str = "") -> list[str]:
    """Everything, page by page, from the end."""
    page = newest_lines(path, limit, grep=grep)
    lines = page.lines
    while page.earlier is not None:
        page = newest_lines(path, limit, before=str(page.earlier), grep=grep)
        lines = page.lines + lines
    return lines


def test_the_newest_lines_come_oldest_first(log: Log) -> None:
    log.write("один", "два", "три")

    page = newest_lines(log.path, 2)

    assert page.lines == ["два", "три"]
    assert page.earlier is not None
    assert newest_lines(log.path, 2, before=str(page.earlier)) == LogPage(["один"], page.earlier, None)


def test_a_follower_gets_every_line_once_through_two_rotations(log: Log) -> None:
    log.write("a")
    place = newest_lines(log.path, 10).next
    log.write("b")
    log.set_aside()
    log.write("c")
    log.set_aside()
    log.write("d")

    page = lines_after(log.path, 2, str(place))
    rest = lines_after(log.path, 2, str(page.next))

    assert (page.lines, rest.lines) == (["b", "c"], ["d"])
    assert lines_after(log.path, 2, str(rest.next)).lines == []


def test_a_line_that_is_being_written_is_not_cut(log: Log) -> None:
    log.write("a")
    place = str(newest_lines(log.path, 1).next)
    with log.path.open("a") as file:
        file.write("half")

    assert lines_after(log.path, 10, place).lines == []


def test_who_was_away_for_too_long_begins_with_what_is_left(log: Log) -> None:
    log.write("a")
    place = str(newest_lines(log.path, 1).next)
    for line in "bcdef":
        log.set_aside()
        log.write(line)

    assert lines_after(log.path, 10, place).lines == ["c", "d", "e", "f"]


def test_only_lines_that_contain_something(log: Log) -> None:
    log.write("actor=kim", "x", "actor=ким", "y")

    assert newest_lines(log.path, 10, grep="actor=").lines == ["actor=kim", "actor=ким"]
    assert newest_lines(log.path, 10, grep="ким").lines == ["actor=ким"]


def test_no_log_is_an_empty_one(tmp_path: Path) -> None:
    page = newest_lines(tmp_path / "nothing", 5)

    assert (page.lines, page.earlier) == ([], None)
    assert lines_after(tmp_path / "nothing", 5, str(page.next)).lines == []


@pytest.mark.parametrize("place", ["x", "1", "-1-2-3", "1-2", "1-2-3-4", "1" * 30 + "-1-1"])
def test_a_place_that_is_none_is_refused(log: Log, place: str) -> None:
    with pytest.raises(InputInvalid, match="this is no place in the log") as refused:
        lines_after(log.path, 5, place)
    assert refused.value.field == "after"
    with pytest.raises(InputInvalid) as refused:
        newest_lines(log.path, 5, before=place)
    assert refused.value.field == "before"


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    pieces=st.lists(
        st.lists(st.text("äb=\\r ", min_size=1, max_size=40), max_size=8), min_size=1, max_size=3
    ),
    limit=st.integers(1, 5),
)
def test_pages_put_together_are_the_whole_log(
    tmp_path_factory: pytest.TempPathFactory, pieces: list[list[str]], limit: int
) -> None:
    log = Log(tmp_path_factory.mktemp("log") / "server.log")
    log.path.touch()
    start = str(newest_lines(log.path, 1).next)
    for number, piece in enumerate(pieces):
        if number:
            log.set_aside()
        log.write(*piece)

    assert all_before(log.path, limit) == log.written
    forwards: list[str] = []
    while (page := lines_after(log.path, limit, start)).lines:
        forwards, start = forwards + page.lines, str(page.next)
    assert forwards == log.written


def test_the_api_gives_the_log_in_pages(server: Served, tmp_path: Path) -> None:
    log = Log(tmp_path / "server.log")
    log.write("один", "два", "три")
    platform = server.app.state.platform
    object.__setattr__(platform, "files", Files(platform.files.logs, platform.files.steps, log.path))

    page = server.get("/server/log", limit=2)
    log.write("четыре")

    assert page["items"] == ["два", "три"]
    assert server.get("/server/log", before=page["earlier"])["items"] == ["один"]
    assert server.get("/server/log", after=page["next"])["items"] == ["четыре"]
    assert server.get("/server/log", grep="дв")["items"] == ["два"]
    assert server.refused("GET", "/server/log?after=1-1-1&before=1-1-1")["field"] == "before"
    assert server.refused("GET", "/server/log?tail=3")["status"] == 422


def test_a_server_without_a_log_says_so(server: Served) -> None:
    assert server.refused("GET", "/server/log")["status"] == 404
