"""A worker that stands in for a training process: it lets time pass as the curve says. Standard library only.

It is sent to its node as text (`python3 -c`), so that nothing of tenuto need be there. Told what to do by
TENUTO_PARAMS: `{"steps", "curve", "start_cost", "rescale_cost"}`. Rank 0 keeps the steps done in the checkpoint
directory: when it is told to stop, and every second, so that whoever comes next goes on from there.
"""

# Importing pathlib would be a third of its start-up time.
# ruff: noqa: PTH105, PTH118, PTH123

from __future__ import annotations

import json
import os
import signal
import sys
import time

JUST_NOW = 2.0
"""Seconds since the last generation stopped within which a start is a rescale, and costs as much."""
SAVES_EVERY = 1.0
DRAINED = 143


def main() -> int:
    """Work until done, or until told to stop."""
    # Who is told to stop has time to write down how far it is; nothing interrupts it in between.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    begun = time.time()
    told = json.loads(os.environ["TENUTO_PARAMS"])
    file = os.path.join(os.environ["TENUTO_CHECKPOINT_DIR"], os.environ["TENUTO_JOB_ID"])
    done, stopped_at = read(file)
    rate = told["curve"][os.environ["WORLD_SIZE"]]
    # A rescale counts from when the generation before was told to stop: its end and our start are part of the cost.
    rescaled = begun - stopped_at < JUST_NOW
    ready = max(begun, stopped_at + told["rescale_cost"]) if rescaled else begun + told["start_cost"]
    end = ready + max(told["steps"] - done, 0.0) / rate
    while (now := time.time()) < end:
        stop = signal.sigtimedwait({signal.SIGTERM}, min(end - now, SAVES_EVERY))
        now = time.time()
        if os.environ["RANK"] == "0":
            write(file, done + max(now - ready, 0.0) * rate, now)
        if stop is not None:
            return DRAINED
    return 0


def read(file: str) -> tuple[float, float]:
    """Steps done, and when they were written down; nothing of either at the beginning."""
    try:
        with open(file, encoding="ascii") as saved:
            done, at = saved.read().split()
            return float(done), float(at)
    except FileNotFoundError:
        return 0.0, 0.0


def write(file: str, done: float, now: float) -> None:
    """Whole or not at all."""
    with open(f"{file}.new", "w", encoding="ascii") as saved:
        saved.write(f"{done!r} {now!r}")
    os.replace(f"{file}.new", file)


if __name__ == "__main__":
    sys.exit(main())
