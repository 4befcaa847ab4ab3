"""Logs: pieces with offsets go in, in any order and more than once; the right bytes come out."""

from __future__ import annotations

import os
import threading
import tracemalloc
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenuto.errors import InputInvalid
from tenuto.store.base import StoreUnavailable
from tenuto.store.log_parts import parts_of
from tenuto.store.logs import LogStore
from tenuto.wire.worker import WORKER, WorkerId

A = WorkerId("job-1", 1, WORKER, 0)
MUCH = 1 << 20


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "logs"


@pytest.fixture
def logs(directory: Path) -> LogStore:
    return LogStore(directory, keep_bytes=1 << 30)


def part_file(directory: Path, worker: WorkerId = A) -> Path:
    """The newest part of a log."""
    return max((directory / worker.job / f"{worker.generation}.{worker.role}.{worker.rank}").iterdir())


def test_pieces_follow_upon_each_other(logs: LogStore) -> None:
    assert logs.append(A, 0, "첫 줄\n".encode()) == 8
    assert logs.append(A, 8, b"second\n") == 15
    assert logs.extent(A) == (0, 15)
    assert logs.read(A, 0, MUCH) == (0, "첫 줄\nsecond\n".encode())
    assert logs.read(A, 8, 3) == (8, b"sec")
    assert logs.read(A, 15, MUCH) == (15, b"")


def test_a_log_of_which_nothing_came_is_empty(logs: LogStore, directory: Path) -> None:
    assert logs.extent(A) == (0, 0)
    assert logs.read(A, 0, MUCH) == (0, b"")
    assert logs.tail(A, 10, MUCH) == (0, b"")
    assert logs.workers(A.job) == []
    assert logs.append(A, 0, b"") == 0
    logs.remove(A.job)
    assert not directory.exists()


def test_a_piece_that_comes_twice_is_stored_once(logs: LogStore) -> None:
    logs.append(A, 0, b"0123456789")
    assert logs.append(A, 0, b"0123456789") == 10
    assert logs.append(A, 3, b"3456") == 10
    assert logs.append(A, 8, b"89abc") == 13
    assert logs.read(A, 0, MUCH) == (0, b"0123456789abc")


def test_bytes_that_the_supervisor_had_to_drop_leave_a_gap_that_readers_see(logs: LogStore) -> None:
    logs.append(A, 0, b"early\n")
    assert logs.append(A, 100, b"late\n") == 105
    assert logs.append(A, 105, b"later\n") == 111
    assert logs.extent(A) == (0, 111)
    assert logs.read(A, 0, MUCH) == (0, b"early\n")
    assert logs.read(A, 6, MUCH) == (100, b"late\nlater\n")
    assert logs.read(A, 50, 2) == (100, b"la")
    assert logs.tail(A, 50, MUCH) == (100, b"late\nlater\n")


def test_a_log_whose_beginning_never_came(logs: LogStore) -> None:
    assert logs.append(A, 1000, b"here we are\n") == 1012
    assert logs.extent(A) == (1000, 1012)
    assert logs.read(A, 0, 4) == (1000, b"here")


def test_an_append_torn_by_a_crash_is_healed_by_sending_again(logs: LogStore, directory: Path) -> None:
    logs.append(A, 0, b"whole\n")
    logs.append(A, 6, b"torn in the middle\n")
    os.truncate(part_file(directory), 10)
    again = LogStore(directory, keep_bytes=MUCH)
    assert again.extent(A) == (0, 10)
    assert again.append(A, 6, b"torn in the middle\n") == 25
    assert again.read(A, 0, MUCH) == (0, b"whole\ntorn in the middle\n")


@given(cuts=st.lists(st.integers(0, 60), max_size=12), resend=st.lists(st.integers(0, 60), max_size=12))
def test_however_it_is_cut_and_repeated_the_log_is_the_same(
    tmp_path_factory: pytest.TempPathFactory, cuts: list[int], resend: list[int]
) -> None:
    text = bytes(range(60))
    logs = LogStore(tmp_path_factory.mktemp("logs"), keep_bytes=100)
    wanted = 0
    for cut, start in zip([*sorted(cuts), 60], [*resend, *[0] * 13], strict=False):
        start = min(start, wanted)
        wanted = logs.append(A, start, text[start : max(cut, start)])
    assert wanted == logs.append(A, wanted, text[wanted:]) == 60
    assert logs.read(A, 0, MUCH) == (0, text)


def test_old_parts_are_dropped_and_offsets_stay(directory: Path) -> None:
    logs = LogStore(directory, keep_bytes=1000)
    lines = [f"line {i:04d}\n".encode() for i in range(500)]
    end = 0
    for line in lines:
        end = logs.append(A, end, line)
    first, last = logs.extent(A)
    assert last == end == 5000
    assert 800 <= last - first <= 1000
    assert logs.read(A, 0, MUCH) == (first, b"".join(lines)[first:])
    assert logs.tail(A, 2, MUCH) == (4980, b"line 0498\nline 0499\n")
    assert logs.append(A, 10, b"long gone") == 5000


def test_one_large_piece_is_cut_into_parts(directory: Path) -> None:
    logs = LogStore(directory, keep_bytes=1000)
    assert logs.append(A, 0, bytes(10_000)) == 10_000
    first, last = logs.extent(A)
    assert (last, last - first) == (10_000, 1000)
    assert len(parts_of(part_file(directory).parent)) == 8


def test_the_tail_is_the_last_lines(logs: LogStore) -> None:
    logs.append(A, 0, b"one\ntwo\nthree\nfo")
    assert logs.tail(A, 0, MUCH) == (16, b"")
    assert logs.tail(A, 1, MUCH) == (14, b"fo")
    assert logs.tail(A, 2, MUCH) == (8, b"three\nfo")
    logs.append(A, 16, b"ur\n")
    assert logs.tail(A, 1, MUCH) == (14, b"four\n")
    assert logs.tail(A, 4, MUCH) == (0, b"one\ntwo\nthree\nfour\n")
    assert logs.tail(A, 99, MUCH) == (0, b"one\ntwo\nthree\nfour\n")


def test_what_a_progress_bar_overwrites_is_one_line(logs: LogStore) -> None:
    bar = b"".join(f"\r{i}%".encode() for i in range(101))
    logs.append(A, 0, b"start\n" + bar + b"\nend\n")
    assert logs.tail(A, 2, MUCH) == (6, bar + b"\nend\n")


def test_a_tail_is_never_larger_than_asked_and_cuts_no_character(logs: LogStore) -> None:
    logs.append(A, 0, ("가" * 100).encode())
    assert logs.tail(A, 1, 10) == (291, "가가가".encode())
    assert logs.tail(A, 1, 9) == (291, "가가가".encode())
    assert logs.tail(A, 1, 0) == (300, b"")


@given(
    lines=st.lists(st.sampled_from([b"", b"x", b"y" * 200, "눈".encode()]), max_size=40),
    count=st.integers(1, 45),
)
def test_the_tail_is_what_python_says_it_is(
    tmp_path_factory: pytest.TempPathFactory, lines: list[bytes], count: int
) -> None:
    text = b"\n".join(lines)
    logs = LogStore(tmp_path_factory.mktemp("logs"), keep_bytes=1 << 30)
    logs.append(A, 0, text)
    expected = b"".join(text.splitlines(keepends=True)[-count:])
    assert logs.tail(A, count, MUCH) == (len(text) - len(expected), expected)


def test_the_tail_of_a_gigabyte_needs_little_memory(logs: LogStore, directory: Path) -> None:
    """The file is sparse: its length is real, its middle is not written."""
    logs.append(A, 0, b"first\n")
    end = b"\nsecond last\nlast\n"
    os.truncate(part_file(directory), (1 << 30) - len(end))
    logs.append(A, (1 << 30) - len(end), end)
    tracemalloc.start()
    try:
        assert logs.tail(A, 2, MUCH) == ((1 << 30) - len(end) + 1, end[1:])
        assert logs.tail(A, 3, MUCH)[0] == (1 << 30) - MUCH
        assert tracemalloc.get_traced_memory()[1] < 4 * MUCH
    finally:
        tracemalloc.stop()


def test_the_logs_of_all_attempts_of_a_job_are_kept_side_by_side(logs: LogStore) -> None:
    ids = [
        WorkerId("job-1", 2, "ps", 0),
        WorkerId("job-1", 10, WORKER, 1),
        A,
        WorkerId("job-1", 2, WORKER, 0),
    ]
    for worker in [*ids, WorkerId("job-2", 1, WORKER, 0)]:
        logs.append(worker, 0, str(worker).encode())
    assert logs.workers("job-1") == sorted(ids)
    assert logs.read(ids[1], 0, MUCH) == (0, b"job-1.10.worker.1")
    logs.remove("job-1")
    assert logs.workers("job-1") == []
    assert logs.extent(A) == (0, 0)
    assert logs.workers("job-2") == [WorkerId("job-2", 1, WORKER, 0)]


@pytest.mark.parametrize(
    "worker",
    [
        WorkerId("../../etc", 1, WORKER, 0),
        WorkerId("..", 1, WORKER, 0),
        WorkerId("", 1, WORKER, 0),
        WorkerId("a/b", 1, WORKER, 0),
        WorkerId("a\0b", 1, WORKER, 0),
        WorkerId("a\n", 1, WORKER, 0),
        WorkerId("가" * 100, 1, WORKER, 0),
        WorkerId("job", 1, "../x", 0),
        WorkerId("job", 1, "a.b", 0),
        WorkerId("job", -1, WORKER, 0),
        WorkerId("job", 1, WORKER, -1),
    ],
)
def test_names_that_lead_elsewhere_are_refused(logs: LogStore, directory: Path, worker: WorkerId) -> None:
    for attempt in (
        lambda: logs.append(worker, 0, b"x"),
        lambda: logs.read(worker, 0, 1),
        lambda: logs.tail(worker, 1, 1),
        lambda: logs.extent(worker),
    ):
        with pytest.raises(InputInvalid):
            attempt()
    assert not directory.exists()


def test_a_job_that_leads_elsewhere_is_not_removed(logs: LogStore, tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.mkdir()
    with pytest.raises(InputInvalid):
        logs.remove("../precious")
    with pytest.raises(InputInvalid):
        logs.workers("..")
    assert precious.is_dir()


def test_negative_offsets_are_refused(logs: LogStore) -> None:
    with pytest.raises(InputInvalid, match="out of range"):
        logs.append(A, -1, b"x")


def test_a_place_that_takes_no_files_is_told(tmp_path: Path) -> None:
    (tmp_path / "logs").write_text("in the way")
    with pytest.raises(StoreUnavailable, match="cannot be written") as caught:
        LogStore(tmp_path / "logs", keep_bytes=MUCH).append(A, 0, b"x")
    assert caught.value.remedy


def test_readers_go_on_while_parts_are_dropped(directory: Path) -> None:
    logs = LogStore(directory, keep_bytes=800)
    done = threading.Event()

    def write() -> None:
        end = 0
        for i in range(600):
            end = logs.append(A, end, f"{i:09d}\n".encode())
        done.set()

    with ThreadPoolExecutor(1) as threads:
        writing = threads.submit(write)
        while not done.is_set():
            for offset, text in (logs.read(A, 0, MUCH), logs.tail(A, 20, MUCH)):
                numbers = [int(line) for line in text.splitlines()]
                assert numbers == list(range(offset // 10, offset // 10 + len(numbers)))
        writing.result(30)
