"""Records in files: once, in order, bounded, and whole after any crash."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenuto.errors import Conflict, InputInvalid
from tenuto.store.steps import StepStore, Stream
from tenuto.wire.worker import WorkerId

A = Stream(WorkerId("job-1", 1, "worker", 0))
B = Stream(WorkerId("job-1", 2, "worker", 1), "supervisor")


def records(first: int, end: int) -> list[dict[str, Any]]:
    usual = {"kind": "step", "at": 1_800_000_000.0, "generation": 1, "é": "żółw"}
    return [{"seq": seq, "step": 10 * seq, **usual} for seq in range(first, end)]


def seqs(steps: StepStore, stream: Stream = A, from_step: int = 0) -> list[int]:
    return [record["seq"] for record in steps.read(stream, from_step)]


@pytest.fixture
def steps(tmp_path: Path) -> StepStore:
    return StepStore(tmp_path, keep_bytes=1 << 20)


def test_a_stream_is_kept_in_its_order_and_found_again(steps: StepStore, tmp_path: Path) -> None:
    steps.append(A, records(0, 5))
    steps.append(B, records(0, 2))

    again = StepStore(tmp_path, keep_bytes=1 << 20)

    assert again.append(A, records(3, 8)) == records(5, 8), "only what is new"
    assert list(again.read(A)) == records(0, 8)
    assert again.streams("job-1") == [A, B]
    assert again.streams("job-2") == []
    again.remove("job-1")
    assert (again.streams("job-1"), again.wanted(A)) == ([], 0)


def test_what_comes_too_early_is_refused_unless_the_rest_is_lost(steps: StepStore) -> None:
    steps.append(A, records(0, 3))

    with pytest.raises(Conflict, match="record 3"):
        steps.append(A, records(5, 6))
    steps.append(A, records(5, 6), skip=True)

    assert seqs(steps) == [0, 1, 2, 5]


@given(cut=st.integers(0, 400), rubbish=st.sampled_from([b"", b"\0\0\0", b"\0\0\n", b"{}\n", b'{"seq": 9']))
def test_whatever_a_crash_leaves_the_stream_goes_on_without_gap_or_repetition(
    cut: int, rubbish: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    directory = tmp_path_factory.mktemp("records")
    StepStore(directory, keep_bytes=1 << 20).append(A, records(0, 6))
    (part,) = (directory / "job-1" / "1.worker.0").iterdir()
    part.write_bytes(part.read_bytes()[:cut] + rubbish)

    again = StepStore(directory, keep_bytes=1 << 20)
    wanted = again.wanted(A)
    again.append(A, records(wanted, 10))

    assert seqs(again) == list(range(10))


def test_the_oldest_records_are_dropped(tmp_path: Path) -> None:
    steps = StepStore(tmp_path, keep_bytes=8000)
    for first in range(0, 1000, 10):
        steps.append(A, records(first, first + 10))

    kept = seqs(steps)

    assert kept[-1] == 999
    assert kept == list(range(kept[0], 1000))
    size = sum(part.stat().st_size for part in (tmp_path / "job-1" / "1.worker.0").iterdir())
    assert size < 10_000


def test_parts_before_a_step_are_not_read(tmp_path: Path) -> None:
    steps = StepStore(tmp_path, keep_bytes=1 << 20)
    steps._part_bytes = 500
    for first in range(0, 100, 5):
        steps.append(A, records(first, first + 5))

    late = seqs(steps, from_step=900)

    assert late[-1] == 99
    assert 70 < late[0] <= 90


def test_many_who_bring_the_same_leave_it_once(steps: StepStore) -> None:
    def bring() -> None:
        while (wanted := steps.wanted(A)) < 200:
            steps.append(A, records(max(0, wanted - 5), min(wanted + 10, 200)))

    threads = [threading.Thread(target=bring) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20.0)

    assert seqs(steps) == list(range(200))


@pytest.mark.parametrize(
    "stream",
    [
        Stream(WorkerId("../x", 1, "worker", 0)),
        Stream(WorkerId("", 1, "worker", 0)),
        Stream(WorkerId("a", 1, "a/b", 0)),
        Stream(WorkerId("a", -1, "worker", 0)),
        Stream(WorkerId("a", 1, "worker", 0), "../y"),
        Stream(WorkerId("x" * 300, 1, "worker", 0)),
    ],
)
def test_no_name_leads_elsewhere(steps: StepStore, stream: Stream) -> None:
    with pytest.raises(InputInvalid):
        steps.append(stream, records(0, 1))


@pytest.mark.parametrize("moment", [-1.0, 0.0, 99.5, 250.0, 298.0, 299.0])
def test_what_was_told_after_a_moment_is_found_from_the_end(tmp_path: Path, moment: float) -> None:
    steps = StepStore(tmp_path, keep_bytes=1 << 16)
    for first in range(0, 300, 10):
        steps.append(A, [{**record, "at": float(record["seq"])} for record in records(first, first + 10)])

    assert len(list((tmp_path / "job-1").rglob("*.part"))) > 1
    assert [one["seq"] for one in steps.since(A, moment)] == [seq for seq in range(300) if seq > moment]
    assert list(steps.since(B, moment)) == []
