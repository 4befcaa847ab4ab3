"""Jobs for tests on the real platform: small commands, each with the few words that a test is about."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
TOY = ROOT / "examples" / "elastic-toy" / "toy.py"
FOREVER = ["sleep", "100000"]


def a_job(name: str, run: str | list[str], **more: Any) -> dict[str, Any]:
    """A job as the API takes it."""
    return {"name": name, "run": run, "grace": 5, **more}


def a_toy(
    name: str, directory: Path, *, steps: int = 100_000, workers: str = "1..4", **more: Any
) -> dict[str, Any]:
    """The elastic toy of the examples: a step takes one worker 10 ms."""
    return a_job(
        name,
        [sys.executable, "-S", str(TOY), "--steps", str(steps), "--step-seconds", "0.01"],
        workers=workers,
        total={"steps": steps},
        curve={str(size): 100.0 * size for size in (1, 2, 3, 4)},
        checkpoint={"dir": str(directory)},
        **more,
    )
