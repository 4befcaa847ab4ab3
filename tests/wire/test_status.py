"""A supervisor sees what a worker was doing, also when the worker is killed in the middle of showing it."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tenuto.wire.status import Stage, Status, StatusPage, read_status

MOMENT = Status(stage=Stage.TRAINING, since=12.5, generation=7, step=1200, samples=307_200, port=40123)

WORKER = """
import sys, time
from tenuto.wire.status import *
page = StatusPage(sys.argv[1])
page.put(Status(stage=Stage.MEETING, since=1.5, generation=3, step=41, samples=10_496, port=4321))
print("shown", flush=True)
time.sleep(600)
"""


def test_a_moment_is_read_as_it_was_shown(tmp_path: Path) -> None:
    page = StatusPage(tmp_path / "état")
    page.put(Status())
    page.put(MOMENT)

    assert read_status(tmp_path / "état") == MOMENT
    page.close()


@given(
    stage=st.sampled_from(Stage),
    since=st.floats(allow_nan=False),
    counts=st.tuples(*[st.integers(0, 2**62)] * 3),
    port=st.integers(0, 65535),
)
def test_any_moment_survives_the_page(
    stage: Stage, since: float, counts: tuple[int, int, int], port: int
) -> None:
    generation, step, samples = counts
    moment = Status(stage=stage, since=since, generation=generation, step=step, samples=samples, port=port)
    path = Path(f"/dev/shm/tenuto-status-{os.getpid()}")
    page = StatusPage(path)
    try:
        page.put(moment)

        assert read_status(path) == moment
    finally:
        page.close()
        path.unlink()


def test_nothing_is_seen_before_something_is_shown(tmp_path: Path) -> None:
    assert read_status(tmp_path / "status") is None
    (tmp_path / "status").write_bytes(b"")
    assert read_status(tmp_path / "status") is None
    page = StatusPage(tmp_path / "status")
    assert read_status(tmp_path / "status") is None
    page.close()


def test_what_is_no_status_page_is_not_taken_for_one(tmp_path: Path) -> None:
    (tmp_path / "status").write_bytes(b"something else entirely, and long enough" * 10)

    assert read_status(tmp_path / "status") is None


def test_the_page_of_a_killed_worker_can_still_be_read(tmp_path: Path) -> None:
    path = tmp_path / "status"
    worker = subprocess.Popen([sys.executable, "-c", WORKER, path], stdout=subprocess.PIPE, text=True)
    try:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "shown\n"
    finally:
        worker.kill()
        worker.communicate()

    assert read_status(path) == Status(
        stage=Stage.MEETING, since=1.5, generation=3, step=41, samples=10_496, port=4321
    )


@pytest.mark.parametrize("before", [1, 2])
def test_a_worker_killed_in_the_middle_of_a_write_shows_the_moment_before(
    tmp_path: Path, before: int
) -> None:
    path = tmp_path / "status"
    page = StatusPage(path)
    for step in range(1, before + 1):
        page.put(replace(MOMENT, step=step))

    whole = path.read_bytes()
    page.put(replace(MOMENT, step=99, generation=99))
    after = bytearray(path.read_bytes())
    after[:16] = whole[:16]  # the body was written, the count was not
    page.close()
    path.write_bytes(after)

    assert read_status(path) == replace(MOMENT, step=before)


BUSY = """
import sys
from tenuto.wire.status import *
page = StatusPage(sys.argv[1])
for number in range(1, 100_000_000):
    page.put(Status(generation=number, step=number, samples=number, port=number % 60000))
    if number == 10:
        print("begun", flush=True)
"""


def test_a_reader_never_sees_half_of_one_moment_and_half_of_another(tmp_path: Path) -> None:
    path = tmp_path / "status"
    worker = subprocess.Popen([sys.executable, "-c", BUSY, path], stdout=subprocess.PIPE, text=True)
    try:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "begun\n"
        seen = [read_status(path) for _ in range(2000)]
    finally:
        worker.kill()
        worker.communicate()

    found = [moment for moment in seen if moment is not None]
    assert len(found) == len(seen)
    assert all(moment.generation == moment.step == moment.samples for moment in found)
    assert len({moment.step for moment in found}) > 1
