"""A worker that is asked to end does so between two steps, or at once if it is asked again."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading

from tests.sdk.waiting import GUARD

from tenuto.sdk.stopping import StopSignal

LOOP = """
import sys, time
from tenuto.sdk.stopping import StopSignal
stop = StopSignal()
stop.listen()
print("begun", flush=True)
while not stop.asked:
    time.sleep(0.001)
print("asked", flush=True)
if sys.argv[1] == "stubborn":
    time.sleep(600)
"""


def worker(kind: str) -> subprocess.Popen[str]:
    started = subprocess.Popen([sys.executable, "-c", LOOP, kind], stdout=subprocess.PIPE, text=True)
    assert started.stdout is not None
    assert started.stdout.readline() == "begun\n"
    return started


def test_the_first_signal_only_asks() -> None:
    loop = worker("obedient")
    try:
        loop.send_signal(signal.SIGTERM)

        assert loop.communicate(timeout=GUARD)[0] == "asked\n"
        assert loop.returncode == 0
    finally:
        loop.kill()
        loop.wait()


def test_the_second_signal_ends_it_at_once() -> None:
    loop = worker("stubborn")
    try:
        loop.send_signal(signal.SIGTERM)
        assert loop.stdout is not None
        assert loop.stdout.readline() == "asked\n"
        loop.send_signal(signal.SIGTERM)

        assert loop.wait(GUARD) == -signal.SIGTERM
    finally:
        loop.kill()
        loop.communicate()


def test_a_program_with_its_own_use_for_the_signal_keeps_it() -> None:
    def own(*_: object) -> None:
        """What the program does."""

    before = signal.signal(signal.SIGTERM, own)
    try:
        StopSignal().listen()

        assert signal.getsignal(signal.SIGTERM) is own
    finally:
        signal.signal(signal.SIGTERM, before)


def test_outside_the_main_thread_nothing_is_taken_and_nothing_raised() -> None:
    stop, raised = StopSignal(), list[BaseException]()

    def listen() -> None:
        try:
            stop.listen()
        except BaseException as error:  # noqa: BLE001 - it is asserted below
            raised.append(error)

    thread = threading.Thread(target=listen)
    thread.start()
    thread.join(GUARD)
    stop.ask()

    assert raised == []
    assert stop.asked
