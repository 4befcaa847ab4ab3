"""A worker that keeps a ledger: one file for each worker, a line for its start and one for its end.

The lock of its slot's file is the kernel's own proof that nobody else is on that slot: it goes with the process.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import sys
import time

LEDGER = os.environ["LEDGER"]
NAME = ".".join(os.environ[key] for key in ("TENUTO_JOB_ID", "TENUTO_GENERATION", "TENUTO_ROLE", "RANK"))
DRAINED = 143


def write(kind: str, **more: object) -> None:
    """One line, written at once."""
    line = json.dumps({"kind": kind, "pid": os.getpid(), "at": time.time(), **more}) + "\n"
    file = os.open(f"{LEDGER}/{NAME}", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.write(file, line.encode())
    os.close(file)


def take_slot() -> int:
    """Lock the slot's file, or write down that somebody else has it."""
    place = f"slot-{os.environ['TENUTO_NODE']}-{os.environ['TENUTO_SLOT']}"
    file = os.open(f"{LEDGER}/{place}", os.O_WRONLY | os.O_CREAT, 0o600)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        write("double", place=place)
    return file


def main(seconds: float, code: int) -> int:
    """Work for so long unless told to stop."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    write("start", workers=int(os.environ["WORLD_SIZE"]))
    slot = take_slot()
    if signal.sigtimedwait({signal.SIGTERM}, seconds):
        code = DRAINED
    write("exit", code=code)
    os.close(slot)
    return code


if __name__ == "__main__":
    sys.exit(main(float(sys.argv[1]), int(sys.argv[2])))
