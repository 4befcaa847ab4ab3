"""What every system must be able to do for the comparison."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Protocol

from rescaling.timeline import latest, pauses, read_steps

PATIENCE = 180.0
"""Seconds after which a system has failed to get to a size."""
_SOME = 8
"""Steps that make a normal one known."""


class Contender(Protocol):
    """One system with the training running in it."""

    name: str

    def missing(self) -> str:
        """Why it cannot run here; empty if it can."""
        ...

    def start(self, log: Path) -> None:
        """Begin with one worker."""
        ...

    def resize(self, workers: int) -> None:
        """Ask for another number of workers; returns at once."""
        ...

    def kill_one(self) -> None:
        """SIGKILL one worker, the one of the highest rank."""
        ...

    def stop(self) -> None:
        """End everything."""
        ...


class NotReached(Exception):
    """A system did not get to the size that was asked for."""


def await_steps(log: Path, world: int, since: float = 0.0) -> None:
    """Wait until so many workers train together in their normal way."""
    give_up = time.monotonic() + PATIENCE
    while True:
        mine = latest(read_steps(log), world, since)
        if mine and len(mine) >= _SOME * len({step.pid for step in mine}):
            return
        if time.monotonic() > give_up:
            raise NotReached(f"{world} workers did not train together within {PATIENCE:.0f} s")
        time.sleep(0.05)


def resize(contender: Contender, log: Path, before: int, after: int) -> float:
    """The pause in seconds that it costs to go from one number of workers to another."""
    await_steps(log, before)
    since = time.monotonic()
    contender.resize(after)
    await_steps(log, after, since)
    return sum(pauses(read_steps(log), since))


def lose_one(contender: Contender, log: Path, before: int) -> float:
    """The pause in seconds after the death of a worker, until the others, or all anew, make their next step."""
    await_steps(log, before)
    since = time.monotonic()
    contender.kill_one()
    give_up = since + PATIENCE
    while not (found := pauses(read_steps(log), since)):
        if time.monotonic() > give_up:
            raise NotReached(f"nobody made another step within {PATIENCE:.0f} s")
        time.sleep(0.05)
    return found[0]


class Processes:
    """Child processes in sessions of their own, that can be ended with all they started."""

    def __init__(self, log: Path) -> None:
        self._log = log
        self.running: list[subprocess.Popen[bytes]] = []

    def start(self, *command: str, **variables: str) -> subprocess.Popen[bytes]:
        here = str(Path(__file__).parents[1])
        usual = {
            "OMP_NUM_THREADS": "1",
            "GLOO_SOCKET_IFNAME": "lo",
            "RESCALE_LOG": str(self._log),
            "PYTHONPATH": here,
        }
        with (self._log.parent / "output").open("ab") as output:
            process = subprocess.Popen(
                command,
                env={**os.environ, **usual, **variables},
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
        self.running.append(process)
        return process

    def end(self, process: subprocess.Popen[bytes], number: signal.Signals = signal.SIGTERM) -> None:
        process.send_signal(number)
        self.running.remove(process)
        process.wait(30)

    def kill_all(self) -> None:
        import psutil

        for process in self.running:
            try:
                family = psutil.Process(process.pid).children(recursive=True)
            except psutil.NoSuchProcess:
                family = []
            for child in family:
                child.kill()
            process.kill()
            process.wait()
        self.running.clear()


def a_free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def has(module: str) -> bool:
    """Whether this Python can import it."""
    check = subprocess.run([sys.executable, "-c", f"import {module}"], capture_output=True, check=False)
    return check.returncode == 0
