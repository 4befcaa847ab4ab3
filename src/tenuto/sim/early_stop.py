"""Ending a replay before its time, once a count has reached a number."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from tenuto.errors import InputInvalid
from tenuto.sim.world import World


def _met(world: World) -> float:
    trace = world.workload.trace
    return float(np.count_nonzero((world.finished <= trace.deadline) & ~trace.best_effort))


METRICS: Mapping[str, Callable[[World], float]] = {
    "time": lambda world: world.now - float(world.workload.trace.submitted[0]),
    "finished": lambda world: float(np.count_nonzero(~np.isnan(world.finished))),
    "met": _met,
    "missed": lambda world: float(np.count_nonzero(world.finished > world.workload.trace.deadline)),
    "declined": lambda world: float(np.count_nonzero(world.refused)),
}


@dataclass(frozen=True, slots=True)
class EarlyStop:
    """Stop as soon as a metric is at least a number."""

    metric: str
    least: float

    @classmethod
    def parse(cls, text: str) -> EarlyStop:
        """Read a condition such as `missed>=10`."""
        match = re.fullmatch(r"\s*([a-z]+)\s*>=\s*(\d+(?:\.\d+)?)\s*", text)
        if match is None or match[1] not in METRICS:
            raise InputInvalid(
                f"{text!r} is no condition to stop at",
                remedy=f"Write METRIC>=NUMBER with one of {', '.join(METRICS)}, e.g. 'missed>=10'",
            )
        return cls(match[1], float(match[2]))

    def reached(self, world: World) -> bool:
        """Whether it is time to stop."""
        return METRICS[self.metric](world) >= self.least
