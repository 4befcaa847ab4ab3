"""What a worker that hangs is doing: by its own words if it can speak, else as it looks from outside."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

from tenuto.wire.untrusted_files import UntrustedDirectory

_PATIENCE = 1.0
"""Seconds that it may take to answer."""
_LOOK = 0.01
_QUIET = 0.05
"""Seconds without another line after which it has said everything."""
_MOST = 32 << 10
_STATES = {"T": "stopped", "t": "stopped", "D": "waiting for a disk or device", "Z": "dead"}


def take_stack(pid: int, link: UntrustedDirectory, name: str) -> str:
    """The stacks of all threads, or what can be said instead. Takes up to a few seconds."""
    state = _state(pid)
    said = _asked(pid, link, name) if state != "stopped" and _hears(pid) else ""
    if said:
        return said
    seen = _by_py_spy(pid)
    about = f"it does not answer; its process is {state}"
    return f"{about}\n{seen}" if seen else about


def _hears(pid: int) -> bool:
    """Whether it knows the question; who does not would die of it."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return False
    caught = next((line.split()[1] for line in lines if line.startswith("SigCgt:")), "0")
    return bool(int(caught, 16) >> (signal.SIGUSR2 - 1) & 1)


def _asked(pid: int, link: UntrustedDirectory, name: str) -> str:
    """Ask it by SIGUSR2; faulthandler writes the answer to a file."""
    before = link.stamp(name)[1]
    try:
        os.kill(pid, signal.SIGUSR2)
    except OSError:
        return ""
    give_up, length, since = time.monotonic() + _PATIENCE, before, time.monotonic()
    while (now := time.monotonic()) < give_up and not (length > before and now - since >= _QUIET):
        time.sleep(_LOOK)
        if (size := link.stamp(name)[1]) != length:
            length, since = size, time.monotonic()
    return link.read(name, _MOST, before).data.decode(errors="replace").strip()


def _by_py_spy(pid: int) -> str:
    """Ask py-spy, if it is installed."""
    program = shutil.which("py-spy") or shutil.which("py-spy", path=str(Path(sys.executable).parent))
    if program is None and find_spec("py_spy") is not None:
        program = str(Path(sys.prefix) / "bin" / "py-spy")
    if program is None:
        return ""
    command = [program, "dump", "--nonblocking", "--pid", str(pid)]
    try:
        done = subprocess.run(command, capture_output=True, timeout=_PATIENCE * 5, check=False)  # noqa: S603
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout[:_MOST].decode(errors="replace").strip()


def _state(pid: int) -> str:
    try:
        letter = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0].decode()
    except (OSError, IndexError):
        return "gone"
    return _STATES.get(letter, "running" if letter == "R" else "asleep")
