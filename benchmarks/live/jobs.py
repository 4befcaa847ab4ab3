"""The trace's jobs for both: as job files for the platform, as a profile and costs for the simulator.

Every job sleeps a fixed time for each sample of its share, so its curve holds on a machine with fewer processors than
slots; everything else (processes, groups, rescales, gradients) is real.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tenuto.sim.read_trace import read_trace
from tenuto.workloads.job import ENTRY

TRACE = Path(__file__).parent / "trace.csv"
SLOTS = 4
PACE = 0.02
"""Seconds of a sample."""
OVERHEAD = 0.08
"""Seconds that a step may take beyond that."""
SIZES = (1, 2, 4)
SCHEDULING: dict[str, Any] = {"interval": 5.0, "margin": 0.1, "start_cost": 5.0, "rescale_cost": 1.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class LiveJob:
    """One job of the trace. Times are seconds since its beginning."""

    name: str
    model: str
    submitted: float
    deadline: float
    steps: int
    batch: int
    requested: int

    def file(self, begun: float) -> dict[str, Any]:
        """As a job file, if the trace began at this moment."""
        arguments = ["--steps", str(self.steps), "--batch", str(self.batch), "--pace", str(PACE)]
        return {
            "name": self.name,
            "strategy": "allreduce",
            "run": [sys.executable, "-m", ENTRY, self.model, *arguments],
            "workers": {"min": 1, "max": SLOTS},
            "preferred": self.requested,
            "total": {"steps": self.steps},
            "global_batch": self.batch,
            "curve": {size: speed(self.batch, size) for size in SIZES},
            "deadline": moment(begun + self.deadline),
            "env": {"OMP_NUM_THREADS": "1"},
            "grace": "10s",
        }


def moment(seconds: float) -> str:
    """As the API writes times."""
    return datetime.fromtimestamp(seconds, UTC).isoformat().replace("+00:00", "Z")


def speed(batch: int, workers: int) -> float:
    """Steps per second."""
    return 1 / (PACE * batch / workers + OVERHEAD)


def jobs() -> list[LiveJob]:
    """All jobs of the trace, in the order of submission."""
    trace = read_trace(TRACE)
    columns = zip(
        trace.ids,
        trace.models,
        trace.submitted.tolist(),
        trace.deadline.tolist(),
        trace.steps.tolist(),
        trace.batch.tolist(),
        trace.requested.tolist(),
        strict=True,
    )
    return [
        LiveJob(
            name=f"job-{number}",
            model=model,
            submitted=submitted,
            deadline=deadline,
            steps=int(steps),
            batch=batch,
            requested=requested,
        )
        for number, model, submitted, deadline, steps, batch, requested in columns
    ]


def write_profile(path: Path) -> None:
    """What the simulator shall believe of the models' speeds."""
    kinds = sorted({(job.model, job.batch) for job in jobs()})
    rows = [f"{model},{batch},{size},{speed(batch, size):.6f}" for model, batch in kinds for size in SIZES]
    path.write_text("\n".join(["model,global_batch,slots,steps_per_second", *rows]) + "\n", encoding="utf-8")


def write_costs(path: Path) -> None:
    """What the simulator shall charge: the same that admission reckons with."""
    costs = {"start": {"1": SCHEDULING["start_cost"]}, "rescale": {"1": SCHEDULING["rescale_cost"]}}
    path.write_text(json.dumps(costs), encoding="utf-8")
