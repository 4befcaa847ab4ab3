"""What a worker that hangs is doing, asked and seen from outside; and how fast and how busy it is."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tenuto.engines.identity import ProcessIdentity
from tenuto.engines.supervisor.crews.seats import Activity
from tenuto.engines.supervisor.crews.stacks import take_stack
from tenuto.engines.supervisor.crews.watch import Watch
from tenuto.wire.status import Stage, Status, StatusPage
from tenuto.wire.untrusted_files import UntrustedDirectory

HANGS = """
import faulthandler, signal, sys, threading
if sys.argv[1] != "deaf":
    faulthandler.register(signal.SIGUSR2, file=open(sys.argv[1], "a"))
def wartet_auf_niemanden():
    print("ready", flush=True)
    threading.Event().wait()
wartet_auf_niemanden()
"""
SPINS = """
print("ready", flush=True)
while True: pass
"""


@pytest.fixture
def started() -> Iterator[list[subprocess.Popen[bytes]]]:
    running: list[subprocess.Popen[bytes]] = []
    yield running
    for process in running:
        process.kill()
        process.communicate()


def start(started: list[subprocess.Popen[bytes]], code: str, *arguments: str) -> ProcessIdentity:
    process = subprocess.Popen([sys.executable, "-c", code, *arguments], stdout=subprocess.PIPE)
    started.append(process)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    identity = ProcessIdentity.of(process.pid)
    assert identity is not None
    return identity


def halt(identity: ProcessIdentity) -> None:
    os.kill(identity.pid, signal.SIGSTOP)
    os.waitid(os.P_PID, identity.pid, os.WSTOPPED | os.WNOWAIT)


def test_a_worker_tells_where_it_hangs(started: list[subprocess.Popen[bytes]], tmp_path: Path) -> None:
    answer = tmp_path / "stos"
    answer.write_text("what it said another time\n")
    worker = start(started, HANGS, str(answer))

    stack = take_stack(worker.pid, UntrustedDirectory(answer.parent), answer.name)

    assert "wartet_auf_niemanden" in stack
    assert "another time" not in stack
    assert worker.alive()


def test_of_one_that_was_halted_that_is_said(started: list[subprocess.Popen[bytes]], tmp_path: Path) -> None:
    worker = start(started, HANGS, str(tmp_path / "stos"))
    halt(worker)

    assert "its process is stopped" in take_stack(worker.pid, UntrustedDirectory(tmp_path), "stos")


def test_who_would_die_of_the_question_is_not_asked(
    started: list[subprocess.Popen[bytes]], tmp_path: Path
) -> None:
    worker = start(started, HANGS, "deaf")

    assert take_stack(worker.pid, UntrustedDirectory(tmp_path), "stos").startswith("it does not answer")
    assert worker.alive()


@pytest.mark.parametrize(
    ("code", "halted", "activity"),
    [(SPINS, False, Activity.BUSY), (HANGS, False, Activity.IDLE), (HANGS, True, Activity.HALTED)],
    ids=["spins", "waits", "halted"],
)
def test_what_a_process_does_is_looked_at_when_it_stays_at_one_thing(
    started: list[subprocess.Popen[bytes]], tmp_path: Path, code: str, *, halted: bool, activity: Activity
) -> None:
    worker = start(started, code, "deaf")
    while code == HANGS and Path(f"/proc/{worker.pid}/stat").read_text().rpartition(")")[2].split()[0] != "S":
        os.sched_yield()
    if halted:
        halt(worker)
    page = StatusPage(tmp_path / "status")
    page.put(Status(stage=Stage.TRAINING, since=100.0))
    watch = Watch(UntrustedDirectory(tmp_path), "status")

    watch.look(worker.pid, 100.5)
    assert watch.activity is Activity.IDLE, "it has only just begun"
    for now in (101.5, 102.5):
        watch.look(worker.pid, now)

    assert watch.activity is activity
    page.close()


def test_the_pace_is_that_of_usual_steps(tmp_path: Path) -> None:
    page = StatusPage(tmp_path / "status")
    watch = Watch(UntrustedDirectory(tmp_path), "status")
    for second in range(10):
        page.put(Status(step=10 * second, since=float(second)))
        watch.look(None, float(second))
    assert watch.step_seconds == pytest.approx(0.1)

    page.put(Status(step=91, since=60.0))
    watch.look(None, 60.0)

    assert watch.step_seconds is not None
    assert watch.step_seconds < 0.2, "one long pause is not usual"
    page.close()


def test_a_page_that_is_none_is_no_trouble(tmp_path: Path) -> None:
    watch = Watch(UntrustedDirectory(tmp_path), "status")
    watch.look(1, 1.0)
    (tmp_path / "status").write_bytes(b"nonsense" * 100)

    watch.look(1, 2.0)

    assert watch.status is None
