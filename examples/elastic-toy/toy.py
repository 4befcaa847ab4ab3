"""A training run without training: it counts steps, and survives being stopped and started at any size.

It does all that tenuto asks of a command, in one screen: it goes on from its checkpoint, shares the work of a step
among its workers, reports its steps, and ends with exit code 143 after it saved on SIGTERM.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
from pathlib import Path

DRAINED = 128 + signal.SIGTERM
"""The exit code that says: I was told to stop, and what I had done is safe."""


def arguments() -> argparse.Namespace:
    """How long it takes, and what shall go wrong."""
    parser = argparse.ArgumentParser(description="Count steps as if they were training.")
    add = parser.add_argument
    add("--steps", type=int, default=int(float(os.environ.get("TENUTO_STEPS", "200"))), help="all the work")
    add("--step-seconds", type=float, default=0.01, help="what a step takes one worker")
    add("--save-every", type=int, default=10, help="steps between two checkpoints")
    add("--fail-at", type=int, help="end with exit code 1 at this step, in the first generation")
    add("--bar", action="store_true", help="draw a progress bar instead of writing lines")
    return parser.parse_args()


def checkpoint() -> Path:
    """One file for each job, so that a second submission begins anew."""
    directory = os.environ.get("TENUTO_CHECKPOINT_DIR") or tempfile.gettempdir()
    return Path(directory) / f"toy-{os.environ.get('TENUTO_JOB_ID', 'alone')}.json"


def load() -> int:
    """The step that the last attempt saved."""
    try:
        return int(json.loads(checkpoint().read_text())["step"])
    except FileNotFoundError:
        return 0


def save(step: int) -> None:
    """Write the checkpoint whole, or leave the old one."""
    if os.environ.get("RANK", "0") != "0":
        return
    checkpoint().parent.mkdir(parents=True, exist_ok=True)
    beside = checkpoint().with_suffix(f".{os.getpid()}")
    beside.write_text(json.dumps({"step": step}))
    beside.replace(checkpoint())


def report(step: int) -> None:
    """Tell tenuto how far we are: the last line of the file counts."""
    if file := os.environ.get("TENUTO_REPORT"):
        with Path(file).open("a") as lines:
            lines.write(json.dumps({"step": step, "loss": round(1 / (1 + step), 4)}) + "\n")


def tell(step: int, steps: int, bar: bool) -> None:
    """Tell whoever reads the log."""
    if bar:
        filled = 20 * step // steps
        sys.stdout.write(f"\r[{'#' * filled}{'.' * (20 - filled)}] {step}/{steps}" + "\n" * (step == steps))
    else:
        sys.stdout.write(f"step {step} of {steps}\n")
    sys.stdout.flush()


def main() -> int:
    """Count from the checkpoint to the end."""
    options = arguments()
    # SIGTERM is not handled but waited for, between two steps, so that it never comes at a bad moment.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    workers = int(os.environ.get("WORLD_SIZE", "1"))
    step = load()
    sys.stdout.write(f"{workers} workers go on from step {step}\n")
    while step < options.steps:
        if signal.sigtimedwait({signal.SIGTERM}, options.step_seconds / workers):
            save(step)
            sys.stdout.write(f"told to stop; saved step {step}\n")
            return DRAINED
        step += 1
        if step == options.fail_at and os.environ.get("TENUTO_GENERATION", "1") == "1":
            sys.stderr.write(f"failing at step {step}, as asked\n")
            return 1
        if step % options.save_every == 0 or step == options.steps:
            save(step)
            report(step)
            tell(step, options.steps, options.bar)
    sys.stdout.write(f"done: {step} steps\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
