"""The jobs of `tenuto demo`: small PyTorch trainings, each paced so that its speed is known on any machine. Pure."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import Any

from tenuto.workloads.job import ENTRY

SLOTS = 4
_BATCH = 32
_OVERHEAD = 0.05
"""Seconds that a step may take beyond its pace: talking to the others, and waiting for one of few processors."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DemoJob:
    """One training and what its owner wants."""

    name: str
    workload: str
    steps: int
    deadline: str
    most: int = SLOTS
    pace: float = 0.01
    """Seconds that a worker takes for a sample."""

    def speed(self, workers: int) -> float:
        """Steps per second."""
        return 1 / (self.pace * -(-_BATCH // workers) + _OVERHEAD)

    def file(self, python: str) -> dict[str, Any]:
        """As it would stand in a job file."""
        arguments = f"{self.workload} --steps {self.steps} --batch {_BATCH} --pace {self.pace:g}"
        sizes = [size for size in (1, 2, 3, 4) if size <= self.most]
        return {
            "name": self.name,
            "strategy": "allreduce",
            "run": f"{shlex.quote(python)} -m {ENTRY} {arguments}",
            "workers": {"min": 1, "max": self.most},
            "total": {"steps": self.steps},
            "global_batch": _BATCH,
            "curve": {size: self.speed(size) for size in sizes},
            "deadline": self.deadline,
            "env": {"OMP_NUM_THREADS": "1"},
            "grace": "10s",
        }


VISION = DemoJob(name="vision", workload="resnet50", steps=240, deadline="+150s")
"""There first: it may have everything until others come."""
WORDS = DemoJob(name="words", workload="gpt2", steps=80, deadline="+60s", most=2)
"""In a hurry: the first one must make room."""
SPEECH = DemoJob(name="speech", workload="deepspeech2", steps=80, deadline="+120s", most=2)
TOO_MUCH = DemoJob(name="too-much", workload="bert", steps=2000, deadline="+60s")
"""Nobody could do that in time; what could be had instead is part of the answer."""
