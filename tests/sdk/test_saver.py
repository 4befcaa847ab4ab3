"""Checkpoints in the background harm nobody."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from tests.sdk.disk import room_for
from tests.sdk.waiting import GUARD

from tenuto.sdk.checkpoints import Checkpoints, step_of
from tenuto.sdk.saver import Saved, Saver


class Slow:
    """A writer that waits in the middle until it may go on."""

    def __init__(self) -> None:
        self.began, self.goes_on = threading.Event(), threading.Event()
        self.thread = ""

    def __call__(self, directory: Path) -> None:
        (directory / "a").write_bytes(b"a" * 1000)
        self.thread = threading.current_thread().name
        self.began.set()
        assert self.goes_on.wait(GUARD)
        (directory / "b").write_bytes(b"b" * 1000)


def quick(directory: Path) -> None:
    (directory / "a").write_bytes(b"a" * 1000)


@pytest.fixture
def saver(tmp_path: Path) -> Saver:
    return Saver(Checkpoints(tmp_path))


def test_training_goes_on_while_a_checkpoint_is_written(saver: Saver) -> None:
    slow, done = Slow(), list[Saved]()
    saver.start(10, slow, done.append)
    assert slow.began.wait(GUARD)

    assert not saver.wait(timeout=0.0)
    assert saver.checkpoints.newest() is None
    slow.goes_on.set()
    assert saver.wait(GUARD)

    newest = saver.checkpoints.newest()
    assert newest is not None
    assert slow.thread == "tenuto-checkpoint"
    assert [(saved.step, saved.path, saved.problem) for saved in done] == [(10, newest, "")]
    assert done[0].size > 2000


def test_one_is_written_at_a_time_and_of_those_that_wait_only_the_newest(saver: Saver) -> None:
    slow, done = Slow(), list[Saved]()
    saver.start(10, slow, done.append)
    assert slow.began.wait(GUARD)
    for step in (20, 30, 40):
        saver.start(step, quick, done.append)
    slow.goes_on.set()
    assert saver.wait(GUARD)

    assert [saved.step for saved in done] == [10, 40]


def test_no_thread_stays_when_all_is_written(saver: Saver) -> None:
    for step in range(3):
        saver.start(step, quick)
        assert saver.wait(GUARD)

    for thread in threading.enumerate():
        if thread.name == "tenuto-checkpoint":
            thread.join(GUARD)
    assert "tenuto-checkpoint" not in {thread.name for thread in threading.enumerate()}


def test_a_full_disk_is_told_and_the_older_one_stays(saver: Saver) -> None:
    done: list[Saved] = []
    saver.start(10, quick, done.append)
    saver.wait(GUARD)
    with room_for(500):
        saver.start(20, quick, done.append)
        saver.wait(GUARD)
        now = saver.save(30, quick)

    assert [saved.problem for saved in (*done, now)] == [
        "",
        "checkpoint of step 20: File too large",
        "checkpoint of step 30: File too large",
    ]
    newest = saver.checkpoints.newest()
    assert newest is not None
    assert step_of(newest) == 10


def test_a_writer_that_fails_is_told(saver: Saver) -> None:
    def fail(_: Path) -> None:
        raise RuntimeError("CUDA error")

    assert saver.save(10, fail) == Saved(step=10, problem="checkpoint of step 10: RuntimeError: CUDA error")


def test_one_that_is_wanted_now_comes_after_what_is_under_way(saver: Saver) -> None:
    slow = Slow()
    saver.start(10, slow)
    assert slow.began.wait(GUARD)
    slow.goes_on.set()

    saved = saver.save(20, quick)

    assert saved.path is not None
    assert saver.checkpoints.newest() == saved.path
    assert slow.thread
