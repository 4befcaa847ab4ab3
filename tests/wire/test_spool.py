"""Records on disk: whole lines, bounded, and no step for want of room."""

from __future__ import annotations

import json
from pathlib import Path

from tests.sdk.disk import room_for

from tenuto.engines.supervisor.parts import Parts
from tenuto.wire.spool import Spool
from tenuto.wire.untrusted_files import UntrustedDirectory


def line(number: int) -> bytes:
    """Forty bytes."""
    return json.dumps({"seq": number, "ö": "x" * 20}, ensure_ascii=False).encode().ljust(39) + b"\n"


def all_lines(directory: Path) -> list[bytes]:
    return [text for part in sorted(directory.iterdir()) for text in part.read_bytes().splitlines()]


def test_the_supervisor_reads_parts_as_it_reads_logs(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "steps", part=100)
    written = [line(number) for number in range(20)]
    for each in written:
        assert spool.write(each)

    offset, read = 0, b""
    parts = Parts(UntrustedDirectory(tmp_path / "steps"))
    while (piece := parts.read(offset))[1]:
        assert piece[0] == offset
        offset, read = piece[0] + len(piece[1]), read + piece[1]

    assert read == b"".join(written)
    assert len(list((tmp_path / "steps").iterdir())) > 3
    assert all(part.read_bytes().endswith(b"\n") for part in (tmp_path / "steps").iterdir())


def test_the_oldest_part_goes_when_nobody_comes_for_it(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "steps", part=100, keep=400)
    for number in range(100):
        spool.write(line(number))
        assert sum(part.stat().st_size for part in (tmp_path / "steps").iterdir()) <= 400 + 2 * (
            100 + len(line(0))
        )

    left = [json.loads(text)["seq"] for text in all_lines(tmp_path / "steps")]
    assert left == list(range(spool.lost, 100))
    assert spool.lost > 50


def test_what_was_uploaded_makes_room(tmp_path: Path) -> None:
    spool = Spool(tmp_path / "steps", part=100, keep=400)
    for number in range(100):
        spool.write(line(number))
        Parts(UntrustedDirectory(tmp_path / "steps")).drop_before(number * len(line(0)))

    assert spool.lost == 0


def test_a_worker_that_begins_again_goes_on_after_what_is_there(tmp_path: Path) -> None:
    first = Spool(tmp_path, part=100)
    for number in range(7):
        first.write(line(number))

    again = Spool(tmp_path, part=100)
    assert again.next_seq() == 7
    again.write(line(7))

    assert [json.loads(text)["seq"] for text in all_lines(tmp_path)] == list(range(8))


def test_half_a_line_on_a_full_disk_spoils_no_other(tmp_path: Path) -> None:
    spool = Spool(tmp_path)
    with room_for(100):
        told = [spool.write(line(number)) for number in range(4)]
    assert told == [True, True, True, False]  # of the third there is a half, and the rest is kept
    assert not all_lines(tmp_path)[-1].endswith(b"}")

    assert spool.settle()
    assert spool.write(line(3))

    assert [text + b"\n" for text in all_lines(tmp_path)] == [line(number) for number in range(4)]


def test_half_a_line_of_a_killed_worker_is_ended_by_the_next(tmp_path: Path) -> None:
    (tmp_path / f"{0:020d}").write_bytes(line(0) + line(1)[:10])

    again = Spool(tmp_path)
    again.write(line(again.next_seq()))

    assert all_lines(tmp_path) == [line(0)[:-1], line(1)[:10], line(1)[:-1]]


def test_a_directory_that_cannot_be_written_costs_records_only(tmp_path: Path) -> None:
    (tmp_path / "steps").write_bytes(b"a file where a directory should be")

    spool = Spool(tmp_path / "steps")

    assert not spool.write(line(0))
    assert spool.next_seq() == 0
