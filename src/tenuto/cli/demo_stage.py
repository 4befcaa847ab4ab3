"""A platform of its own for the demo and for measuring: in a temporary home, gone at the end, however that comes."""

from __future__ import annotations

import os
import shutil
import signal
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

import psutil

from tenuto.cli.background import start_in_background
from tenuto.cli.connect import connect
from tenuto.cli.down import await_end
from tenuto.cli.home import Home
from tenuto.cli.plan import LocalWish, Plan
from tenuto.cli.printing import say
from tenuto.client.plain import PlainClient
from tenuto.errors import TenutoError

_OURS = ("TENUTO_HOME", "TENUTO_URL", "TENUTO_TOKEN", "TENUTO_STORE")
_PATIENCE = 30.0
"""Seconds in which everything may stop by itself."""
SOON: Mapping[str, object] = {
    "policy": "elasticflow",
    "interval": 5.0,
    "start_cost": 10.0,
    "rescale_cost": 3.0,
}
"""As for training that takes hours, only sooner: who uses such a platform has minutes."""


@contextmanager
def platform(nodes: int, slots: int, scheduling: Mapping[str, object] = SOON) -> Iterator[PlainClient]:
    """A running platform; when the block is left, nothing of it remains."""
    place = Path(tempfile.mkdtemp(prefix="tenuto-demo-"))
    home = Home(place / "home")
    with _signals_raise(), _environment(home):
        try:
            options = {"scheduling": dict(scheduling)}
            start_in_background(Plan(home=home, options=options, local=LocalWish(nodes=nodes, slots=slots)))
            with connect(patience=10.0) as client:
                yield client
        finally:
            with _patiently():
                _stop(home)
                shutil.rmtree(place, ignore_errors=True)


def _stop(home: Home) -> None:
    """In good order if that can be had soon, else by force: nobody will miss what was in this home."""
    try:
        if home.is_served():
            with connect(patience=10.0) as client:
                client.down()
                await_end(home, client, time.monotonic() + _PATIENCE)
    except TenutoError:
        say("It does not end by itself, for instance because it is compiling; it is killed.")
    while living := _processes(home):
        for process in living:
            with suppress(psutil.NoSuchProcess):
                process.kill()
        psutil.wait_procs(living, timeout=5.0)


def _processes(home: Home) -> list[psutil.Process]:
    """Everything that was started with this home, which no other platform has ever had."""
    mark = f"TENUTO_HOME={home.path}".encode()
    found = []
    for process in psutil.process_iter():
        with suppress(OSError, psutil.Error):
            variables = Path(f"/proc/{process.pid}/environ").read_bytes().split(b"\0")
            if mark in variables and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return found


@contextmanager
def _patiently() -> Iterator[None]:
    """Whoever is impatient now would leave processes behind: signals wait until all has been put away."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = {number: signal.signal(number, signal.SIG_IGN) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def _environment(home: Home) -> Iterator[None]:
    """Let everything that looks for a platform find this one, and no other."""
    before = {name: os.environ.pop(name) for name in _OURS if name in os.environ}
    os.environ["TENUTO_HOME"] = str(home.path)
    try:
        yield
    finally:
        for name in _OURS:
            os.environ.pop(name, None)
        os.environ.update(before)


@contextmanager
def _signals_raise() -> Iterator[None]:
    """End in good order at SIGTERM and SIGHUP, as after Ctrl-C.

    Python ignores an exception that a handler raises inside a destructor or a weak reference's callback, for instance
    during an import. Such a signal is remembered, and raises when the block ends.
    """
    received: list[int] = []

    def interrupt(number: int, _frame: FrameType | None) -> None:
        received.append(number)
        raise KeyboardInterrupt

    numbers = [signal.SIGTERM, signal.SIGHUP]
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        numbers.append(signal.SIGINT)
    before = {number: signal.signal(number, interrupt) for number in numbers}
    try:
        yield
        if received:
            raise KeyboardInterrupt
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
