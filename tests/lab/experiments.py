"""Small experiments: traces of a few jobs, policies in files, and what a run left behind."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import yaml

HEADER = "job_id,submitted,steps,model,deadline,global_batch,slots,duration,best_effort"

# Stands still in its first round of a real replay, with a pipe held open, for as long as HOLD names one.
HOLDING = """
import os
import signal

from tenuto.policy.fifo import decide as first_come


def decide(snap):
    hold = os.environ.get("HOLD")
    if hold and snap.cluster.name != "warm-up":
        with open(hold, "wb", buffering=0) as pipe:
            pipe.write(b"standing")
            signal.pause()
    return first_come(snap)
"""

# Is killed in its first round, as a process is that needs too much memory.
DYING = """
import os
import signal

from tenuto.policy.fifo import decide as first_come


def decide(snap):
    if snap.cluster.name != "warm-up":
        os.kill(os.getpid(), signal.SIGKILL)
    return first_come(snap)
"""

CLUMSY = """
from tenuto.policy.fifo import decide as first_come


def decide(snap):
    if snap.cluster.name != "warm-up":
        raise ZeroDivisionError("oops")
    return first_come(snap)
"""


def a_trace(path: Path, *, jobs: int = 4, slots: int = 1, within: int = 7200) -> Path:
    """Jobs of an hour each, one a minute."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [HEADER]
    lines += [f"j{k},{k * 60},20000,resnet50,{k * 60 + within},128,{slots},3600,0" for k in range(jobs)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def an_experiment(path: Path, **entries: Any) -> Path:
    """An experiment's file; unless told otherwise one trace of four jobs on n1g2 under fifo."""
    content = {"traces": ["few.csv"], "clusters": "n1g2", "policies": "fifo", **entries}
    path.write_text(yaml.safe_dump(content, sort_keys=False), encoding="utf-8")
    if not (path.parent / "few.csv").exists():
        a_trace(path.parent / "few.csv")
    return path


def a_policy(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def rows_in(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def times_of(out: Path) -> dict[str, int]:
    """When each cell was finished."""
    return {path.parent.name: path.stat().st_mtime_ns for path in out.rglob("manifest.json")}
