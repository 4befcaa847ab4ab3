"""A worker hears of memberships at once and is seen at once; neither side waits for the other."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.sdk.disk import room_for
from tests.sdk.waiting import GUARD, wait_until

from tenuto.sdk import link as link_module
from tenuto.sdk.link import Link
from tenuto.wire import membership
from tenuto.wire.membership import Member, Membership
from tenuto.wire.status import Stage, read_status

ME = "größer.1.worker.0"


def generation(number: int) -> Membership:
    return Membership(
        job="größer", generation=number, members=(Member(worker=ME, node="n", host="127.0.0.1", port=1),)
    )


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    path = tmp_path / "größer.1.worker.0" / "link"
    path.mkdir(parents=True)
    return path


@pytest.fixture
def link(directory: Path) -> Iterator[Link]:
    link = Link(directory, ME)
    yield link
    link.close()


def test_a_membership_is_heard_of_when_it_is_written(link: Link, directory: Path) -> None:
    assert link.newest is None

    membership.write(directory, generation(3))

    assert link.wait_newer(0, GUARD) == generation(3)
    assert link.newest == generation(3)


def test_a_membership_that_was_there_before_is_heard_of_too(directory: Path) -> None:
    membership.write(directory, generation(3))
    link = Link(directory, ME)

    assert link.wait_newer(2, GUARD) == generation(3)
    link.close()


def test_who_waits_for_a_newer_one_is_not_woken_by_an_older_one(link: Link, directory: Path) -> None:
    membership.write(directory, generation(5))
    assert link.wait_newer(0, GUARD) == generation(5)

    membership.write(directory, generation(4))

    assert link.wait_newer(5, timeout=0.0) is None
    membership.write(directory, generation(6))
    assert link.wait_newer(5, GUARD) == generation(6)


def test_what_cannot_be_understood_is_passed_over(link: Link, directory: Path) -> None:
    for nonsense in (b"", b"{", b"[]", b'{"job": 1}', b"\xff\xfe"):
        new = directory / "new"
        new.write_bytes(nonsense)
        new.replace(directory / membership.FILE)

    membership.write(directory, generation(3))

    assert link.wait_newer(0, GUARD) == generation(3)


def test_callbacks_get_what_is_there_and_what_comes(link: Link, directory: Path) -> None:
    membership.write(directory, generation(1))
    link.wait_newer(0, GUARD)
    heard: queue.Queue[tuple[int, str]] = queue.Queue()

    link.on_newer(lambda found: heard.put((found.generation, threading.current_thread().name)))
    assert heard.get(timeout=GUARD)[0] == 1

    membership.write(directory, generation(2))
    assert heard.get(timeout=GUARD) == (2, "tenuto-link")


def test_a_callback_that_fails_makes_nobody_deaf(
    link: Link, directory: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(_: Membership) -> None:
        raise RuntimeError("a fault")

    link.on_newer(fail)
    for number in (1, 2):
        membership.write(directory, generation(number))
        assert link.wait_newer(number - 1, GUARD) == generation(number)
    wait_until(lambda: len(caplog.records) == 2)


def test_without_the_kernels_help_it_looks_by_itself(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link_module, "_watch_directory", lambda _: None)
    link = Link(directory, ME)
    membership.write(directory, generation(3))

    assert link.wait_newer(0, GUARD) == generation(3)
    link.close()


def test_the_supervisor_sees_what_is_shown(link: Link, directory: Path) -> None:
    link.show(Stage.READY, port=4321)
    link.show(step=7, samples=448, generation=2)

    seen = read_status(directory / membership.STATUS)

    assert seen == link.status
    assert (seen.stage, seen.port, seen.step, seen.samples, seen.generation) == (Stage.READY, 4321, 7, 448, 2)


def test_a_stage_began_when_it_was_first_shown(link: Link) -> None:
    link.show(Stage.TRAINING)
    began = link.status.since

    link.show(Stage.TRAINING, step=1)

    assert link.status.since == began


def test_it_rings_for_what_the_supervisor_waits_for_and_for_nothing_else(
    directory: Path, tmp_path: Path
) -> None:
    os.mkfifo(tmp_path / "bell")
    bell = os.open(tmp_path / "bell", os.O_RDWR | os.O_NONBLOCK)
    link = Link(directory, ME, str(tmp_path / "bell"))
    rings = []

    for stage in (Stage.READY, Stage.FORMING, Stage.TRAINING, Stage.MEETING, Stage.TRAINING, Stage.LEAVING):
        link.show(stage)
        try:
            rings.append(os.read(bell, 1000).decode())
        except BlockingIOError:
            rings.append("")

    name = "größer.1.worker.0\n"
    assert rings == [name, "", name, "", "", name]
    link.close()
    os.close(bell)


def test_a_bell_that_nobody_hears_or_that_is_gone_harms_nobody(directory: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "dead")
    for bell in (tmp_path / "dead", tmp_path / "gone", tmp_path):
        link = Link(directory, ME, str(bell))
        link.show(Stage.READY)
        link.close()


def test_a_full_pipe_keeps_nobody_waiting(directory: Path, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "bell")
    bell = os.open(tmp_path / "bell", os.O_RDWR | os.O_NONBLOCK)
    with pytest.raises(BlockingIOError):
        while True:
            os.write(bell, b"x" * 4096)
    link = Link(directory, ME, str(tmp_path / "bell"))

    link.show(Stage.READY)

    link.close()
    os.close(bell)


HUNG = """
import sys, time
from tenuto.sdk.link import Link
link = Link(sys.argv[1], "w")
def hangs_here():
    print("hung", flush=True)
    time.sleep(600)
hangs_here()
"""


def test_the_stack_of_a_hung_worker_can_be_had(directory: Path) -> None:
    worker = subprocess.Popen([sys.executable, "-c", HUNG, directory], stdout=subprocess.PIPE, text=True)
    try:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "hung\n"
        worker.send_signal(signal.SIGUSR2)
        stack = directory / membership.STACK
        wait_until(lambda: "<module>" in stack.read_text(encoding="utf-8"))
    finally:
        worker.kill()
        worker.communicate()

    assert "hangs_here" in stack.read_text(encoding="utf-8")


def test_a_newcomer_to_a_full_disk_waits_for_room(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looked, made = threading.Event(), queue.Queue[Link]()
    monkeypatch.setattr(
        link_module, "time", SimpleNamespace(monotonic=lambda: 0.0, sleep=lambda _: looked.set())
    )
    with room_for(0):
        newcomer = threading.Thread(target=lambda: made.put(Link(directory, ME)))
        newcomer.start()
        assert looked.wait(GUARD)
        assert made.empty()

    made.get(timeout=GUARD).close()
    newcomer.join(GUARD)


def test_a_link_that_is_not_there_is_an_error_at_once(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Link(tmp_path / "gone", ME)


def test_a_closed_link_leaves_no_thread_and_no_descriptor(directory: Path) -> None:
    def descriptors() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    Link(directory, ME).close()
    before = descriptors()

    for _ in range(5):
        link = Link(directory, ME)
        link.close()
        link.close()

    assert descriptors() == before
    assert "tenuto-link" not in {thread.name for thread in threading.enumerate()}
