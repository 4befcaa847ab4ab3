"""Logs on disk: written in parts, read by offset, with gaps where something was lost."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from tenuto.engines.supervisor.parts import Parts
from tenuto.engines.supervisor.shim.log import Log
from tenuto.wire.untrusted_files import UntrustedDirectory


def read_all(parts: Parts, offset: int = 0) -> tuple[int, bytes]:
    """Everything from an offset on, and where it really begins."""
    first, data = parts.read(offset)
    whole = data
    while data:
        begin, data = parts.read(first + len(whole))
        assert not data or begin == first + len(whole)
        whole += data
    return first, whole


def test_a_log_of_many_parts_is_read_as_one(tmp_path: Path) -> None:
    log = Log(str(tmp_path / "log"), keep=1 << 20)
    text = b"".join(b"%06d\n" % number for number in range(50_000))

    for start in range(0, len(text), 1000):
        log.write(text[start : start + 1000])

    assert log.offset == len(text)
    assert read_all(Parts(UntrustedDirectory(tmp_path / "log"))) == (0, text)
    assert read_all(Parts(UntrustedDirectory(tmp_path / "log")), 123_456) == (123_456, text[123_456:])
    assert Parts(UntrustedDirectory(tmp_path / "log")).read(len(text)) == (len(text), b"")


def test_only_the_newest_bytes_stay_and_offsets_go_on(tmp_path: Path) -> None:
    log = Log(str(tmp_path / "log"), keep=40_960)
    text = bytes(number % 251 for number in range(200_000))

    log.write(text)

    first, kept = read_all(Parts(UntrustedDirectory(tmp_path / "log")))
    assert 40_960 - 8192 <= len(kept) <= 40_960
    assert (first + len(kept), kept) == (200_000, text[first:])


def test_what_finds_no_room_leaves_a_gap(tmp_path: Path) -> None:
    log = Log(str(tmp_path / "log"), keep=1 << 20)
    log.write(b"before\n")
    log._close()
    shutil.rmtree(tmp_path / "log")  # as good as a full disk: nothing can be written
    log.write(b"lost\n")
    (tmp_path / "log").mkdir()
    log.write(b"after\n")

    assert read_all(Parts(UntrustedDirectory(tmp_path / "log"))) == (len(b"before\nlost\n"), b"after\n")


def test_a_line_of_ours_stands_alone(tmp_path: Path) -> None:
    log = Log(str(tmp_path / "log"), keep=1 << 20)
    log.line("pierwsza")
    log.write("중간".encode())
    log.line("ostatnia")

    assert read_all(Parts(UntrustedDirectory(tmp_path / "log")))[1].decode() == "pierwsza\n중간\nostatnia\n"


def test_parts_that_are_uploaded_are_dropped_but_never_the_last(tmp_path: Path) -> None:
    log = Log(str(tmp_path / "log"), keep=1 << 16)
    log.write(bytes(30_000))
    parts = Parts(UntrustedDirectory(tmp_path / "log"))

    parts.drop_before(20_000)
    assert read_all(parts)[0] == 16_384
    parts.drop_before(30_000)
    assert read_all(parts) == (24_576, bytes(30_000 - 24_576))


@given(pieces=st.lists(st.binary(max_size=9000), max_size=12), offset=st.integers(0, 60_000))
def test_whatever_is_written_is_read_back(pieces: list[bytes], offset: int) -> None:
    with tempfile.TemporaryDirectory() as directory:
        log = Log(f"{directory}/log", keep=1 << 20)
        for piece in pieces:
            log.write(piece)
        text = b"".join(pieces)

        assert (
            read_all(Parts(UntrustedDirectory(Path(directory) / "log")), min(offset, len(text)))[1]
            == text[offset:]
        )
