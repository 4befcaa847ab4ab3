"""A worker that is asked to end does so between two steps; at once only after a second Ctrl-C."""

from __future__ import annotations

import contextlib
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
stop.listen(keyboard="keyboard" in sys.argv, says_so=True)
print("begun", flush=True)
while not stop.asked:
    time.sleep(0.001)
print("asked", flush=True)
if "saving" in sys.argv:
    print(sys.stdin.readline(), end="", flush=True)
    sys.exit(stop.exit_code)
while "keyboard" in sys.argv:
    time.sleep(0.01)
"""


def worker(*kinds: str) -> subprocess.Popen[str]:
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", LOOP, *kinds]
    started = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
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


def test_a_signal_that_a_shell_passes_on_too_does_not_end_it_before_its_checkpoint() -> None:
    loop = worker("saving")
    try:
        loop.send_signal(signal.SIGTERM)
        assert loop.stdout is not None
        assert loop.stdout.readline() == "asked\n"
        loop.send_signal(signal.SIGTERM)
        assert loop.stdin is not None
        loop.stdin.write("saved\n")

        assert loop.communicate(timeout=GUARD)[0] == "saved\n"
        assert loop.returncode == 143
    finally:
        loop.kill()
        loop.wait()


def test_ctrl_c_asks_and_says_so_and_once_more_ends_it() -> None:
    loop = worker("keyboard")
    try:
        loop.send_signal(signal.SIGINT)
        assert loop.stdout is not None
        assert loop.stdout.readline() == "asked\n"
        while loop.poll() is None:  # those within a second are the first one, passed on by a launcher
            loop.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                loop.wait(0.1)
        _, told = loop.communicate(timeout=GUARD)

        assert told.count("a checkpoint is kept") == 1
        assert told.endswith("KeyboardInterrupt\n")
        assert loop.returncode == -signal.SIGINT
    finally:
        loop.kill()
        loop.wait()


def test_ctrl_c_that_is_heeded_leaves_with_its_own_exit_code() -> None:
    loop = worker("saving", "keyboard")
    try:
        loop.send_signal(signal.SIGINT)

        assert loop.communicate("saved\n", timeout=GUARD)[0] == "asked\nsaved\n"
        assert loop.returncode == 130
    finally:
        loop.kill()
        loop.wait()


def test_after_the_training_signals_do_what_they_always_did() -> None:
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        stop = StopSignal()
        stop.listen(keyboard=True)
        assert signal.getsignal(signal.SIGTERM) != signal.SIG_DFL
        assert signal.getsignal(signal.SIGINT) is not signal.default_int_handler
        stop.close()

        assert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGTERM, before[0])
        signal.signal(signal.SIGINT, before[1])


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
