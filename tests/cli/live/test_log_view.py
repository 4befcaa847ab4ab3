"""What becomes of a log on its way to the reader."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenuto.cli.log_view import LogView
from tenuto.wire.log_lines import Lines, rewritten


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("plain", "plain"),
        ("10%\r50%\r100%", "100%"),
        ("long line\rshort", "shortline"),
        ("50%\x1b[K\r\x1b[2Kdone", "done"),
        ("trailing\r", "trailing"),
        ("한국어\r학습", "학습어"),
    ],
)
def test_a_line_looks_as_a_terminal_shows_it(line: str, shown: str) -> None:
    assert rewritten(line) == shown


@given(st.lists(st.text(alphabet="ab\r\n", max_size=6), max_size=20))
def test_it_does_not_matter_in_which_pieces_a_log_comes(pieces: list[str]) -> None:
    whole, parts = Lines(), Lines()

    expected = whole.feed("".join(pieces)) + whole.finish()
    found = [line for piece in pieces for line in parts.feed(piece)] + parts.finish()

    assert found == expected


def test_a_long_progress_bar_is_not_hoarded() -> None:
    lines = Lines()

    for number in range(10_000):
        lines.feed(f"\r{number:>6} of 10000")

    assert len(lines._rest) < 100
    assert lines.finish() == ["  9999 of 10000"]


@given(st.lists(st.sampled_from(["", "a", "bc", "def", "\x1b[K", "\x1b[Kgh", "ij\x1b[2K"])))
def test_a_line_is_rewritten_part_after_part(parts: list[str]) -> None:
    shown = ""
    for part in parts:
        erased = "\x1b[" in part
        text = part.rpartition("K")[2] if erased else part
        shown = text if erased else text + shown[len(text) :]
    assert rewritten("\r".join(parts)) == shown


def test_each_part_of_a_line_is_looked_at_once_however_often_it_is_rewritten() -> None:
    # Half a million times: if what stood there were copied at each, this would take minutes.
    assert rewritten("a" * 500_000 + "\rb" * 500_000) == "b" + "a" * 499_999


def test_one_worker_is_shown_plainly() -> None:
    out = io.StringIO()
    view = LogView(out)
    view.expect(["worker/0"])

    view.write("worker/0", "hello\n10%\r20%")
    view.write("worker/0", "\r30%\nbye")
    view.finish_all()

    assert out.getvalue() == "hello\n30%\nbye\n"


def test_lines_of_several_workers_begin_with_their_names() -> None:
    out = io.StringIO()
    view = LogView(out)
    view.expect(["worker/0", "ps/0"])

    view.write("worker/0", "be")
    view.write("ps/0", "ready\n")
    view.write("worker/0", "gin\n")

    assert out.getvalue() == "ps/0     | ready\nworker/0 | begin\n"


def test_on_a_terminal_a_progress_bar_moves_in_its_line() -> None:
    out = Terminal()
    view = LogView(out)
    view.expect(["worker/0"])

    view.write("worker/0", "10%")
    view.write("worker/0", "\r20%")
    view.write("worker/0", "\r100%\n")

    assert out.getvalue() == "10%\r\x1b[2K20%\r\x1b[2K100%\n"


def test_raw_is_raw() -> None:
    out = io.StringIO()
    view = LogView(out, raw=True)
    view.expect(["worker/0", "worker/1"])

    view.write("worker/0", "10%\r20%\r\n")

    assert out.getvalue() == "10%\r20%\r\n"
