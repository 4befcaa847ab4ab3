"""A job file for a stand-in, so that what a trace names can be submitted."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tenuto.workloads.registry import Workload

ENTRY = "tenuto.workloads.train"
"""The module that trains any of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What is to be trained, beyond the name."""

    steps: int = 100
    batch: int | None = None
    """The global batch; the workload's own if None."""
    most: int = 4
    """Workers that it can have."""
    pace: float = 0.0
    """Least seconds that a worker takes for a sample."""
    data: Path | None = None


def job_file(workload: Workload, wanted: Wanted) -> dict[str, Any]:
    """The keys of a job file; a deadline and a curve are the owner's to add."""
    batch = wanted.batch or workload.batch
    return {
        "name": workload.name,
        "strategy": "allreduce",
        "module": f"{ENTRY} {shlex.join(_arguments(workload, wanted, batch))}",
        "workers": f"1..{wanted.most}",
        "total": {"steps": wanted.steps},
        "global_batch": batch,
    }


def _arguments(workload: Workload, wanted: Wanted, batch: int) -> list[str]:
    arguments = [workload.name, "--steps", str(wanted.steps), "--batch", str(batch)]
    if wanted.pace:
        arguments += ["--pace", f"{wanted.pace:g}"]
    if wanted.data is not None:
        arguments += ["--data", str(wanted.data.absolute())]
    return arguments
